//! On the way to the provider, and back with a question still open.

use super::sentences;

sentences! { TRIP:
    leaving_heading(host) = "On to {host}";
    leaving_what(host) = "You are being sent to {host} now. If nothing happens, use the button.";
    leaving_check(host) = "Before you sign in there, check that your browser shows {host} as the address.";
    leaving_button(host) = "Go to {host}";

    working_heading(provider) = "Connecting {provider}";
    working_what() = "This is taking a little longer than usual. You can wait here or come back later: it goes on by itself.";
    working_button() = "Check again";

    awaiting_heading(provider) = "{provider} has not said yet that it is done";
    awaiting_what(server) = "You are back, and nothing is missing on your side. As soon as {server} says so, it goes on by itself: you can wait here, or come back later.";
    awaiting_again(provider) = "Did you not finish there? Then open your link again and go back to {provider}.";
    awaiting_button() = "Look again";
    awaiting_open() = "Open the link again";

    changed_heading(provider) = "This is a different {provider} account";
    changed_what(new, previous) = "You have just chosen {new}. Until now {previous} was connected.";
    changed_question(server) = "Which one may {server} use? The other one will not be connected.";
    changed_gone(server, previous) = "The connection with {previous} no longer does for what {server} needs.";
    changed_use(new) = "Use {new}";
    changed_keep(previous) = "Keep {previous}";
    changed_neither() = "Neither of them";

    tenant_heading(provider) = "Which one at {provider}?";
    tenant_what(account, provider, server) = "{account} at {provider} has more than one place to work in. Which of them may {server} use?";
    tenant_what_nameless(provider, server) = "Your {provider} account has more than one place to work in. Which of them may {server} use?";
    tenant_legend() = "Choose one";

    not_connected_heading(provider) = "{provider} is not connected";
    not_connected_page_heading(provider) = "{provider} is not done";
    not_connected_said_no(provider) = "You said no at {provider}, or closed the page there. Nothing was connected.";
    not_connected_provider(provider) = "{provider} ended the connection with an error. Nothing was connected.";
    not_connected_too_late(provider) = "The answer from {provider} could no longer be used. Nothing was connected.";
    not_connected_no_lasting(provider) = "{provider} gave access for a short time only, which is not enough. Nothing was connected.";
    not_connected_twice(provider) = "The way to {provider} was used twice, so we have stopped it to be safe. Nothing was connected.";
    not_connected_account(provider) = "{provider} did not say which account it is. Nothing was connected.";
    not_connected_again(server) = "You can try again, or tell {server} that you do not want to.";

    approval_heading(provider) = "{provider} needs the approval of an administrator";
    approval_what(provider) = "Your organisation decides which apps may use {provider} accounts. Nothing is connected yet.";
    approval_do() = "Send this to whoever looks after it:";
    approval_message(provider, server, host) = "I would like to connect my {provider} account with {server}. Can you approve it for our organisation? It is run at {host}.";
    approval_link() = "Page for the administrator";
    approval_after() = "When it is approved, come back to this page and try again.";
}
