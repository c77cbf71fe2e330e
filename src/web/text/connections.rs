//! What is connected, and disconnecting it.

use super::sentences;

sentences! { CONNECTIONS:
    connections_heading() = "Your connections";
    connections_what() = "These are the accounts that you have connected here.";
    connections_none() = "Nothing is connected.";
    connections_none_do() = "When a tool needs one of your accounts, it sends you a link.";
    connection_account(account) = "Account {account}";
    connection_used_by(server) = "Used by {server}";
    connection_since(day) = "Connected on {day}";
    connection_last_used(day) = "Last used on {day}";
    connection_ends(day) = "Ends on {day}";
    connection_permissions() = "Permissions";
    status_active() = "Connected";
    status_limited() = "Connected, with limits";
    status_attention() = "Needs to be connected again";
    status_stopped() = "Stopped for your safety";
    status_attention_do(server) = "The next time {server} needs it, you get a link.";
    status_stopped_why(provider) = "{provider} answered for a different account. Disconnect it, then connect it again.";
    disconnect_open(account) = "Disconnect {account}";
    disconnect_what(server, provider, account) = "{server} can then no longer use {account}, and we tell {provider} to end the access. What was done with it already stays as it is.";
    disconnect_button(provider, account) = "Disconnect {provider}, {account}";

    disconnected_heading(provider) = "{provider} is disconnected";
    disconnected_what(server, account) = "{server} can no longer use {account}. We have deleted the access that was kept here.";
    disconnected_confirmed(provider) = "{provider} has confirmed that the access has ended.";
    disconnected_pending(provider) = "{provider} has not confirmed it yet. We keep telling it.";
    disconnected_impossible(provider) = "{provider} gives us no way to end the access there. You can do it in the settings of your {provider} account.";
    disconnected_shared(provider) = "Another connection uses the same {provider} account, so the access at {provider} itself stays until that one is disconnected too.";
    disconnected_settings(provider) = "Settings at {provider}";
}
