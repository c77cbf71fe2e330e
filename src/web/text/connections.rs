//! What is connected, and disconnecting it.

use super::sentences;

sentences! { CONNECTIONS:
    connections_heading() = "Your connections";
    connections_what() = "These are the accounts that you have connected here.";
    connections_none() = "Nothing is connected.";
    connections_none_do() = "When a tool needs one of your accounts, it sends you a link.";
    connections_more() = "There are more than fit here. Disconnect some to see the others.";
    connections_used_by(server) = "Used by {server}";
    connections_as(server, person) = "Used by {server}, as {person}";
    connections_elsewhere() = "Do you also sign in elsewhere? There may be more.";
    connections_elsewhere_button(authority) = "Show what I connected with {authority}";
    connection_heading(provider, account) = "{provider}: {account}";
    connection_heading_nameless(provider) = "Your {provider} account";
    connection_account(account) = "Account {account}";
    connection_since(day) = "Connected on {day}";
    connection_last_used(day) = "Last used on {day}";
    connection_refreshed(day) = "Last renewed on {day}";
    connection_ends(day) = "Ends on {day}";
    connection_permissions() = "Permissions";
    connection_missing() = "Not given";
    connection_details(provider, account) = "Details of {provider}, {account}";
    connection_details_nameless(provider) = "Details of {provider}";
    connection_history() = "What happened";
    status_active() = "Connected";
    status_limited() = "Connected, with limits";
    status_ending(day) = "Connected until {day}";
    status_attention() = "Needs to be connected again";
    status_stopped() = "Stopped for your safety";
    status_ending_do(provider, day) = "{provider} gives access for a limited time. Connect again before {day}, and nothing stops.";
    status_limited_do(server) = "You did not give every permission that {server} asked for, so some things do not work.";
    status_attention_do(server) = "Connect it again now, or wait: the next time {server} needs it, you get a link.";
    status_stopped_do() = "Connect it again with the right account, or disconnect it.";
    connection_replace(account) = "Replace the key of {account}";
    connection_unchecked() = "Saved without a check";
    connection_test_mode() = "A key for a test mode";
    reconnect_button(account) = "Connect {account} again";
    more_permissions_button(account) = "Add permissions for {account}";

    trouble_refused(provider) = "{provider} no longer accepts it. That happens when the access was removed there, when a password was changed, or after a long time without use.";
    trouble_lost(provider) = "The connection broke off while {provider} was renewing it, so it can no longer be used.";
    trouble_reported(provider) = "{provider} turned it away when it was used.";
    trouble_over(provider) = "At {provider} you allow this for a limited time only, and that time is over.";
    trouble_lapsed(provider) = "{provider} lets us renew it for a limited time only, and that time is over.";
    trouble_changed(provider) = "The people who run this site have set up {provider} anew. What you connected before is not sent to the new place, so it is not used any more.";
    trouble_ran_out(provider) = "It ran out, and {provider} does not let us renew it without you.";
    trouble_other(provider) = "It no longer works at {provider}.";
    trouble_stopped(provider) = "{provider} answered for a different account than the one that you connected, so we stopped using it.";

    happened_connected(day) = "{day}: connected";
    happened_connected_in(day, client) = "{day}: connected, as asked in {client}";
    happened_partly(day) = "{day}: connected, with fewer permissions than asked for";
    happened_declined(day) = "{day}: you said no";
    happened_declined_in(day, client) = "{day}: you said no, asked in {client}";
    happened_expired(day) = "{day}: a link ran out";
    happened_renewed(day) = "{day}: renewed without you";

    disconnect_open(account) = "Disconnect {account}";
    disconnect_heading(provider) = "Disconnect {provider}?";
    disconnect_here(server, account) = "{server} can then no longer use {account}. We delete the access that is kept here at once.";
    disconnect_there(provider) = "We tell {provider} to end the access. If it does not answer, we keep telling it; if it cannot be told, the next page says what you can do.";
    disconnect_there_shared(provider) = "At {provider} itself the access stays for now, because another connection uses the same account.";
    disconnect_there_wide(provider) = "This can also end what other people of your organisation have connected with {provider} here.";
    disconnect_there_typed(provider) = "The key itself goes on working at {provider} until you remove it there.";
    disconnect_here_done(server, account) = "{server} is told, and can then no longer count on {account}. We delete what is kept of it here at once.";
    disconnect_there_done(provider) = "What you did at {provider} itself is not undone by that.";
    disconnect_other(server) = "{server} has a connection of its own with this account. That one stays.";
    disconnect_until(server, time, day) = "A copy that {server} is working with right now may go on until {time} on {day}.";
    disconnect_past() = "What was done with it already stays as it is.";
    disconnect_settings(provider) = "Look at your settings at {provider}";
    disconnect_button(provider, account) = "Disconnect {provider}, {account}";
    disconnect_keep() = "Keep it";

    disconnect_all_heading() = "Disconnect everything?";
    disconnect_all_what() = "All of these are disconnected, for every tool that uses them:";
    disconnect_all_item(provider, account, server) = "{provider}, {account}, used by {server}";
    disconnect_all_there() = "We delete every access that is kept here at once, and tell the other sides to end it.";
    disconnect_all_button() = "Disconnect everything";
    disconnect_all_keep() = "Keep them";

    disconnected_heading(provider) = "{provider} is disconnected";
    disconnected_what(server, account) = "{server} can no longer use {account}. We have deleted the access that was kept here.";
    disconnected_confirmed(provider) = "{provider} has confirmed that the access has ended.";
    disconnected_pending(provider) = "{provider} has not confirmed it yet. We keep telling it.";
    disconnected_impossible(provider) = "{provider} gives us no way to end the access there. You can do it in the settings of your {provider} account.";
    disconnected_typed(provider) = "The key itself goes on working at {provider} until you remove it there, in the settings of your {provider} account.";
    disconnected_given_up(provider) = "{provider} did not confirm it, although we told it many times. You can end the access in the settings of your {provider} account.";
    disconnected_unreadable(provider) = "{provider} was not told, because the access that was kept here could not be read any more. You can end it in the settings of your {provider} account.";
    disconnected_unconfigured(provider) = "{provider} was not told, because it is not set up here any more. You can end the access in the settings of your {provider} account.";
    disconnected_shared(provider) = "Another connection uses the same {provider} account, so the access at {provider} itself stays until that one is disconnected too.";
    disconnected_settings(provider) = "Settings at {provider}";
    disconnected_check() = "Check again";
    disconnected_all_heading() = "Everything is disconnected";
    disconnected_all_what() = "No tool can use what is listed here any more. We have deleted the access that was kept here.";
    disconnected_some_heading() = "Not everything is disconnected";
    disconnected_all_failed(number) = "Still connected, because something went wrong on our side: {number}. Try it again.";
}
