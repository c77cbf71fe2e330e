//! How it ended.

use super::sentences;

sentences! { OUTCOME:
    connected_heading(provider) = "{provider} is connected";
    connected_as(provider, account) = "Your {provider} account {account} is connected.";
    connected_secret(provider, ending) = "Your {provider} key ending in {ending} is connected.";
    connected_nameless(provider) = "{provider} did not say which account it is.";
    connected_unchecked(provider) = "The key was saved without a check, because {provider} did not answer.";
    connected_test_mode(provider) = "It is a key for the test mode of {provider}.";
    connected_done_heading(provider) = "{provider} is done";
    connected_done(provider, label) = "What you did at {provider} has arrived: {label}.";
    connected_done_nameless(provider) = "What you did at {provider} has arrived.";
    go_back(client) = "Go back to {client}. It continues there, and you can close this tab.";
    go_back_somewhere() = "Go back to where you asked for this. It continues there, and you can close this tab.";
    ask_again(client) = "Go back to {client} and ask again. It will work now.";
    ask_again_somewhere() = "Go back to where you asked for this, and ask again. It will work now.";
    not_this_account() = "Not the right account? You can disconnect it under “Your connections”.";
    next_step(provider) = "Next: connect {provider}";

    partly_heading(provider) = "{provider} is connected, with limits";
    partly_missing(provider) = "You did not give these permissions at {provider}, so some things will not work:";
    partly_lost(server, provider) = "{server} had these permissions before, and you did not give them at {provider} this time:";
    partly_lost_too(server) = "And these, which {server} had before:";
    partly_button() = "Give the missing permissions";

    declined_heading() = "Nothing was connected";
    declined_what(server) = "You said no, and {server} knows.";
    declined_again(client) = "If you change your mind, ask again in {client}.";
    declined_again_somewhere() = "If you change your mind, ask again where you came from.";

    cancelled_heading() = "This is no longer needed";
    cancelled_client(client) = "It was cancelled in {client}. Nothing was connected by this link.";
    cancelled_client_somewhere() = "It was cancelled where you asked for it. Nothing was connected by this link.";
    cancelled_server(server) = "{server} no longer needs this. Nothing was connected by this link.";
    cancelled_disconnected(provider) = "{provider} was disconnected while this link was open. Nothing was connected by it.";
    cancelled_operator(operator) = "The people who run {operator} have cancelled it. Nothing was connected by this link.";

    expired_heading() = "This link is too old";
    expired_what() = "Links work for a short time only. Nothing was connected by this one.";
    expired_restart() = "Start again";
    expired_ask(client) = "You can start again here, or ask again in {client}.";
    expired_ask_somewhere() = "You can start again here, or ask again where you came from.";
    expired_only_ask(client) = "Go back to {client} and ask again.";
    expired_only_ask_somewhere() = "Go back to where you asked for this, and ask again.";

    failed_page_heading(provider) = "{provider} did not work";
    failed_page(server, provider) = "{server} says that nothing came of it at {provider}. Nothing was connected by this link.";
    failed_page_again(client) = "To try it once more, ask again in {client}.";
    failed_page_again_somewhere() = "To try it once more, ask again where you came from.";
    failed_heading(provider) = "{provider} cannot be connected";
    failed_removed(operator, provider) = "{operator} no longer works with {provider}. Nothing was connected by this link.";
    failed_refused(operator, provider) = "{operator} is no longer allowed to connect to {provider}. Nothing was connected by this link.";
    failed_tries() = "A wrong code was typed too often, so this link was closed. Nothing was connected by it.";
    failed_do(operator) = "Trying again will not help. Tell the people who run {operator}, and give them the reference below.";
}
