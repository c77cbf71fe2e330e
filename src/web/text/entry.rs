//! Opening the link: signing in, agreeing, and what is asked for before leaving.

use super::sentences;

sentences! { ENTRY:
    server_asks(server, provider) = "{server} wants to use your {provider} account.";
    asked_in(server, client) = "{server} says that you asked for this in {client}.";
    not_you_close() = "Did you not ask for this? Then close this page. Nothing happens unless you agree.";

    sign_in_heading(provider) = "Sign in to connect {provider}";
    sign_in_page_heading(provider) = "Sign in to go on to {provider}";
    sign_in_why() = "First, sign in so that we know it is you. Nobody else can use this link.";
    sign_in_button(authority) = "Continue with {authority}";
    sign_in_plain_button() = "Sign in";
    resume_heading(provider) = "Sign in again to connect {provider}";
    resume_why(provider) = "Your sign-in ended while you were at {provider}. Nothing is lost: sign in with the same account, and we finish from there.";
    connections_sign_in_heading() = "Sign in to see your connections";
    connections_sign_in_why(server) = "Here you see which of your accounts {server} can use, and you can disconnect them.";
    connections_sign_in_all() = "Here you see all accounts that you have connected for your tools, and you can disconnect them.";
    connections_sign_in_where() = "Choose where you usually sign in.";

    confirm_heading(person) = "You are now {person}. Continue?";
    confirm_why() = "Another account was signed in here before. Continue only if you have just signed in yourself.";
    confirm_warning() = "If you did not, somebody may be trying to put their account in the place of yours. Then close this page.";
    confirm_button(person) = "Continue as {person}";

    ready_heading(provider) = "Connect your {provider} account?";
    more_heading(provider) = "More permissions for {provider}?";
    more_asks(server, provider, account) = "{server} uses your {provider} account {account}, and now asks for more.";
    more_asks_nameless(server, provider) = "{server} uses your {provider} account, and now asks for more.";
    again_heading(provider) = "Connect {provider} again?";
    again_asks(server, provider, account) = "{server} used your {provider} account {account}. That does not work any more.";
    again_asks_nameless(server, provider) = "{server} used your {provider} account. That does not work any more.";
    renew_asks(server, provider, account) = "{server} uses your {provider} account {account}. Connect it again to renew what you have allowed.";
    renew_asks_nameless(server, provider) = "{server} uses your {provider} account. Connect it again to renew what you have allowed.";
    ready_button(provider) = "Continue to {provider}";
    ready_person(person) = "You are signed in as {person}.";
    ready_choose(host) = "Next, you choose the account and confirm at {host}.";
    ready_hint(account, host) = "Next, choose {account} and confirm at {host}.";
    ready_password(server, provider) = "Your {provider} password stays between you and {provider}. {server} never sees it.";
    ready_setting(label, value) = "{label}: {value}";
    ready_change() = "Change what you entered";
    ready_first() = "Before you continue";
    ready_first_link(host) = "More about this at {host}";
    ready_undo() = "You can disconnect whenever you like.";
    ready_until(time) = "This link works until {time}.";
    page_heading(provider) = "On to {provider}?";
    page_asks(server, provider) = "{server} asks you to do something on a page of its own: {provider}.";
    page_again() = "You have done it before. If you go on, you do it once more.";
    page_next(host) = "Next, you go to {host}. When you are done there, you come back here.";
    page_known(server) = "When you go there, {server} is told that it is you.";
    page_done_heading(provider) = "{provider} is done already";
    page_done(server) = "{server} can go on with what you did before, or you can do it once more.";
    page_keep() = "Keep it as it is";
    page_repeat() = "Do it once more";
    message_from(server) = "Message from {server}";

    permissions_asked(server) = "{server} will be able to:";
    permissions_new() = "New permissions";
    permissions_before(server) = "{server} will be able to do again:";
    permissions_already() = "Already allowed";

    already_heading(provider) = "{provider} is already connected";
    already_account(provider, account) = "Your {provider} account {account} is connected.";
    already_enough(server) = "{server} can go on with it, or you can connect another account in its place.";
    already_more(server) = "{server} needs more permissions than you have given so far.";
    already_attention(provider) = "{provider} no longer accepts this connection. Connect again to go on.";
    keep_button(account) = "Keep using {account}";
    another_button() = "Connect another account";
    more_button(provider) = "Continue to {provider}";

    input_heading(provider) = "One thing about your {provider} account";
    input_why(provider) = "We need this to send you to the right place at {provider}.";
    input_button() = "Continue";
    example(example) = "Example: {example}";
    optional() = "Optional";
    field_choose() = "Choose one";
    field_missing(field) = "Fill in {field}.";
    field_pattern(field) = "{field} does not look as it should. Compare it with the example.";
    field_too_long(field) = "{field} is too long.";
    field_not_offered(field) = "Choose one of the answers for {field}.";
    fields_wrong() = "Something in the form needs another look";

    secret_heading(provider) = "Connect {provider} with a key";
    secret_why(server, provider) = "{server} needs a key of your {provider} account. We keep it locked away and check it with {provider} first.";
    secret_host(host, server, provider) = "What you enter goes to {host} and from there to nobody but {server} and {provider}.";
    secret_find(provider) = "Find your key at {provider}";
    secret_button() = "Check and connect";
    secret_unusual(field) = "{field} does not look like the usual kind. Check that you copied all of it.";
    secret_rejected_heading(provider) = "{provider} did not accept the key";
    secret_rejected_what(provider) = "Nothing is connected. Copy the whole key from {provider} and enter it again.";
    secret_why_unchecked(server, provider) = "{server} needs a key of your {provider} account. We keep it locked away. We cannot check it with {provider}, so copy all of it.";
    secret_replaces(account) = "The new key takes the place of what is connected now: {account}.";
    secret_replaces_nameless(provider) = "The new key takes the place of the {provider} key that is connected now.";
    secret_reveal() = "Show what I type";
    secret_hide() = "Hide what I type";
    secret_incomplete_heading() = "Check what you entered";
    secret_incomplete_what() = "Nothing is connected yet. We kept nothing of what you entered: enter all of it again.";
    secret_doubtful_what() = "Nothing is connected yet, because something looks unusual. We kept nothing of what you entered: enter it again, and save it if you are sure.";
    secret_save_button_plain() = "Save and connect";
    field_unwritable(field) = "{field} holds a line break or another character that does not belong there.";
    field_host(field) = "{field} is not an address of this service.";
    field_host_before(field, ends) = "{field} must be the part before {ends} alone, or the whole address that ends so.";
    field_host_ends(field, ends) = "{field} must be an address that ends in {ends}. Copy it from your browser, without what follows the name.";
    field_host_one(field, hosts) = "{field} must be one of these: {hosts}.";
    field_private(field) = "{field} leads to an address that we may not use, such as one inside a private network. Check the spelling, or ask the people who run this site.";
    field_pattern_plain(field) = "{field} does not look as it should. Check that nothing is missing or too much.";
    field_advice(field, advice) = "{field}: {advice}";
    secret_unchecked_heading() = "We could not check the key";
    secret_unchecked_what(provider) = "{provider} did not answer, so nothing is connected yet. We did not keep the key: enter it again to check it once more, or save it without a check.";
    secret_unusable_what(provider) = "{provider} answered something that we cannot use, so nothing is connected yet. We did not keep the key: enter it again to check it once more, or save it without a check.";
    secret_unusable_do(operator) = "If it happens again, tell the people who run {operator}, and give them the reference below.";
    secret_again_button() = "Check again and connect";
    secret_save_button() = "Save without checking";
}
