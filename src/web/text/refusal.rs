//! What could not be done, and what to do about it.

use super::sentences;

sentences! { REFUSAL:
    wrong_heading() = "This link is for a different account";
    wrong_person(person) = "You are signed in as {person}. The link was made for somebody else, so nothing was connected.";
    wrong_yours() = "If that other account is yours too, switch to it.";
    wrong_sent() = "If somebody sent you this link, close this page. They may be trying to use your account.";
    wrong_switch() = "Switch account";

    not_found_heading() = "There is nothing here";
    not_found_what() = "The address is not complete, or it is not one of ours. Nothing was connected by it.";
    not_found_do() = "Go back to where you found the link, and open it again or ask for a new one.";

    sign_in_failed_heading() = "You are not signed in";
    sign_in_failed_said_no() = "The sign-in was cancelled. Nothing was connected.";
    sign_in_failed_went_wrong() = "The sign-in did not work. Nothing was connected.";
    sign_in_failed_too_late() = "The sign-in took too long, or it was begun in another browser. Nothing was connected.";
    sign_in_failed_unreachable() = "The page where you sign in does not answer. Nothing was connected. Try again in a minute.";
    sign_in_failed_do() = "Open the link again where you found it.";
    sign_in_again() = "Sign in again";

    other_browser_heading() = "This was not begun in this browser";
    other_browser_what() = "You came back from an account that was opened in another browser or a private window, or too long ago. Nothing was connected.";
    other_browser_do() = "Open the link again in the browser that you want to use, and stay in it. If somebody else sent you here, close this page.";
    other_browser_cookies() = "If this keeps happening, your browser may be blocking cookies for this site.";
    open_link_again() = "Open the link again";

    mismatch_heading() = "We stopped this for your safety";
    mismatch_what() = "The answer did not come from where it should. It was not used, and nothing was connected.";
    mismatch_do() = "Close this page, go back to where you asked for this, and ask again. If it happens once more, tell the people who run this site and give them the reference below.";

    unreachable_heading(provider) = "{provider} does not answer";
    unreachable_heading_nameless() = "The other side does not answer";
    unreachable_what() = "Nothing was connected, and nothing is wrong with your account.";
    unreachable_check() = "Check what you entered for its address, or try again in a minute.";
    unreachable_do() = "Try again in a minute.";

    unusable_heading(provider) = "{provider} answered something that we cannot use";
    unusable_heading_nameless() = "The other side answered something that we cannot use";
    unusable_what() = "Nothing was connected. It may not be set up correctly here, which is not your mistake.";
    unusable_do(operator) = "If it happens again, tell the people who run {operator}, and give them the reference below.";

    misconfigured_heading(provider) = "{provider} is not set up correctly here";
    misconfigured_heading_nameless() = "This is not set up correctly here";
    misconfigured_what() = "Nothing was connected. It is not your mistake, and you cannot mend it.";
    misconfigured_do(operator) = "Tell the people who run {operator}, and give them the reference below. The link will work when they have mended it.";
    misconfigured_ended(operator) = "Tell the people who run {operator}, and give them the reference below. This link has ended: when they have mended it, go back to where you asked for this, and ask again.";

    too_many_heading() = "Too many tries";
    too_many_what() = "Nothing is lost, and nothing was changed.";
    too_many_seconds(seconds) = "Wait {seconds} seconds, then load this page again.";
    too_many_minute() = "Wait a minute, then load this page again.";
    too_many_minutes(minutes) = "Wait {minutes} minutes, then load this page again.";

    unavailable_heading() = "Back in a moment";
    unavailable_what() = "We cannot answer right now. Nothing is lost, and nothing was changed.";
    unavailable_do() = "Load this page again in a minute.";

    bad_request_heading() = "We could not read that";
    bad_request_malformed() = "Your browser sent something that we do not understand. Nothing was changed.";
    bad_request_from_elsewhere() = "This came from another site, or this page was open for too long. Nothing was changed.";
    bad_request_method() = "This address cannot be used in that way. Nothing was changed.";
    bad_request_too_large() = "Your browser sent more than we take. Nothing was changed.";
    bad_request_too_slow() = "Your browser took too long to send it. Nothing was changed.";
    bad_request_host() = "This site has a different address. Nothing was changed.";
    bad_request_do() = "Go back to where you found the link, and open it again.";

    server_error_heading() = "Something went wrong on our side";
    server_error_what() = "We do not know whether it was still done. Open the link again: it shows how things are.";
    server_error_do(operator) = "If it happens again, tell the people who run {operator} and give them the reference below.";

    signed_out_heading() = "You are signed out";
    signed_out_what() = "This browser is signed out here. What you have connected stays connected.";
    signed_out_other() = "You may still be signed in where you sign in to your account.";
}
