//! Permissions in plain words: what the most used providers are commonly asked for.

use consentry::provider::catalogue::Catalogue;
use toml::Value;

/// Twenty providers, each with what tools commonly ask for there. Notion knows no scopes: its users choose pages.
const COMMON: [(&str, &[&str]); 20] = [
    (
        "github",
        &[
            "repo",
            "public_repo",
            "read:user",
            "user:email",
            "read:org",
            "gist",
            "workflow",
            "project",
            "notifications",
            "read:packages",
            "admin:repo_hook",
        ],
    ),
    (
        "google",
        &[
            "openid",
            "email",
            "profile",
            "drive.file",
            "calendar.events",
            "gmail.readonly",
            "spreadsheets",
            "documents",
            "contacts.readonly",
            "presentations",
            "tasks",
        ],
    ),
    (
        "google-gmail",
        &[
            "gmail.readonly",
            "gmail.send",
            "gmail.compose",
            "gmail.modify",
            "gmail.labels",
            "gmail.metadata",
            "openid",
            "email",
        ],
    ),
    (
        "google-calendar",
        &[
            "calendar",
            "calendar.readonly",
            "calendar.events",
            "calendar.events.readonly",
            "calendar.freebusy",
            "openid",
            "email",
        ],
    ),
    (
        "google-drive",
        &[
            "drive",
            "drive.readonly",
            "drive.file",
            "drive.metadata.readonly",
            "documents",
            "spreadsheets",
            "openid",
            "email",
        ],
    ),
    (
        "microsoft",
        &[
            "openid",
            "email",
            "profile",
            "User.Read",
            "Mail.Read",
            "Mail.ReadWrite",
            "Mail.Send",
            "Calendars.Read",
            "Calendars.ReadWrite",
            "Files.Read",
            "Files.ReadWrite.All",
            "Sites.Read.All",
            "Chat.Read",
            "ChannelMessage.Send",
            "Contacts.Read",
            "Tasks.ReadWrite",
            "OnlineMeetings.ReadWrite",
            "Team.ReadBasic.All",
        ],
    ),
    (
        "slack",
        &[
            "channels:read",
            "channels:history",
            "channels:join",
            "groups:read",
            "groups:history",
            "im:read",
            "im:write",
            "im:history",
            "mpim:history",
            "chat:write",
            "users:read",
            "users:read.email",
            "files:read",
            "files:write",
            "reactions:read",
            "user:search:read",
            "user:channels:history",
            "user:chat:write",
            "user:users:read",
        ],
    ),
    ("notion", &[]),
    (
        "atlassian",
        &[
            "read:me",
            "read:jira-work",
            "write:jira-work",
            "read:jira-user",
            "read:confluence-content.all",
            "read:confluence-space.summary",
            "write:confluence-content",
            "search:confluence",
            "read:servicedesk-request",
        ],
    ),
    ("linear", &["read", "write", "issues:create", "comments:create", "app:assignable", "app:mentionable"]),
    (
        "gitlab",
        &[
            "read_user",
            "api",
            "read_api",
            "read_repository",
            "write_repository",
            "read_registry",
            "openid",
            "email",
            "profile",
        ],
    ),
    (
        "asana",
        &[
            "users:read",
            "tasks:read",
            "tasks:write",
            "projects:read",
            "projects:write",
            "workspaces:read",
            "teams:read",
            "stories:read",
            "stories:write",
            "attachments:read",
            "default",
        ],
    ),
    (
        "hubspot",
        &[
            "oauth",
            "crm.objects.contacts.read",
            "crm.objects.contacts.write",
            "crm.objects.companies.read",
            "crm.objects.deals.read",
            "crm.objects.deals.write",
            "crm.objects.owners.read",
            "crm.lists.read",
            "crm.schemas.contacts.read",
            "tickets",
            "timeline",
        ],
    ),
    ("salesforce", &["api", "openid", "profile", "email", "refresh_token", "offline_access", "full", "web"]),
    (
        "dropbox",
        &[
            "account_info.read",
            "files.metadata.read",
            "files.content.read",
            "files.content.write",
            "sharing.read",
            "sharing.write",
        ],
    ),
    (
        "zoom",
        &[
            "user:read:user",
            "user:read:email",
            "meeting:read:meeting",
            "meeting:read:list_meetings",
            "meeting:write:meeting",
            "meeting:update:meeting",
            "meeting:read:summary",
            "cloud_recording:read:list_user_recordings",
            "cloud_recording:read:list_recording_files",
        ],
    ),
    (
        "figma",
        &[
            "current_user:read",
            "file_content:read",
            "file_metadata:read",
            "file_comments:read",
            "file_comments:write",
            "projects:read",
            "library_content:read",
        ],
    ),
    (
        "discord",
        &[
            "identify",
            "email",
            "guilds",
            "guilds.members.read",
            "bot",
            "webhook.incoming",
            "applications.commands",
        ],
    ),
    (
        "airtable",
        &[
            "data.records:read",
            "data.records:write",
            "schema.bases:read",
            "user.email:read",
            "webhook:manage",
        ],
    ),
    (
        "zendesk",
        &["read", "write", "tickets:read", "tickets:write", "users:read", "organizations:read", "hc:read"],
    ),
];

#[test]
fn the_common_permissions_of_the_most_used_providers_have_plain_words() {
    let mut lacking = Vec::new();
    for (id, common) in COMMON {
        let entry = Catalogue::built_in_entry(id).unwrap().unwrap_or_else(|| panic!("{id}"));
        let words = entry.settings.get("scope_words").and_then(Value::as_table);
        let list = |key: &str| entry.settings.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let own: Vec<Value> = [list("scopes"), list("allowed_scopes")].concat();
        for scope in own.iter().filter_map(Value::as_str).chain(common.iter().copied()) {
            // Google's own names are addresses.
            let names = [scope.to_owned(), format!("https://www.googleapis.com/auth/{scope}")];
            if !names.iter().any(|name| words.is_some_and(|words| words.contains_key(name))) {
                lacking.push(format!("{id}: {scope}"));
            }
        }
    }
    assert!(lacking.is_empty(), "without words: {lacking:?}");
}

/// They end a sentence that begins "... will be able to:", fit on a line of a page, and say nothing that people need not
/// know.
#[test]
fn words_for_permissions_are_words() {
    for id in Catalogue::built_in().ids() {
        let entry = Catalogue::built_in_entry(id).unwrap().unwrap();
        let words = entry.settings.get("scope_words").and_then(Value::as_table).into_iter().flatten();
        for (scope, words) in words {
            let words = words.as_str().unwrap();
            assert!((3..=80).contains(&words.chars().count()), "{id}: {scope}: {words}");
            assert!(
                words.starts_with(|c: char| c.is_ascii_uppercase()) && !words.ends_with('.'),
                "{id}: {words}"
            );
            let low = words.to_lowercase();
            for word in ["oauth", "token", "scope", "endpoint", "read access", "write access"] {
                assert!(!low.contains(word), "{id}: {scope} says {word}");
            }
            assert_ne!(words, scope, "{id}");
        }
    }
}
