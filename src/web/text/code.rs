//! Where nobody can sign in: the code that a page shows.

use super::sentences;

sentences! { CODE:
    code_why(server) = "First, this page shows you a code. Type it where you asked for this, so that {server} knows that this browser is yours.";
    code_button() = "Show my code";
    code_sent() = "Did you not ask for this yourself, or did somebody send you the link? Then close this page. Nothing happens unless you type the code.";
    code_too_old() = "The code that was shown here is too old. Nothing is lost: take a new one.";

    code_heading() = "Type this code where you asked";
    code_where(server, provider) = "{server} asks you for it, to connect your {provider} account. It is for this browser only and works for 5 minutes.";
    code_never() = "Never give this code to anyone.";
    code_theft(provider) = "Whoever gets it from you can connect your {provider} account to themselves. And if somebody else gave you a code, do not type it.";
    code_typed_button() = "I have typed it";
    code_new_button() = "Show a new code";

    code_person() = "The code that this browser showed was typed in. If you did not do that yourself, close this page: somebody may be trying to get your account.";

    closed_heading() = "This link is no longer open";
    closed_what() = "It was used, taken back, or is too old. Nothing has changed by opening it now.";
}
