"""What cannot be seen of a server from outside, and why; everything else has a check."""

_ALLOWED = "says only what a server may do"
_FIXTURE = "needs a tool that is made for it"
_INSIDE = "happens inside the server"
_LIMITS = "needs to know the limits"
_LONG = "needs longer than a check may take"
_PAGES = "says only what a server may do; pagination-methods looks at the pages"
_STOPPING = "needs a server that is told to stop while it is listened to"
_TWO = "needs the tokens of two users"

UNCHECKABLE: dict[str, str] = {
    "auths-audience-validated": "needs a token that was issued for another server",
    "auths-insufficient-scope-403": "needs a token with too little scope",
    "auths-no-passthrough": _INSIDE,
    "auths-no-query-token": "the server would write the token into its logs",
    "auths-proxy-consent": "needs a person who logs in",
    "auths-scope-403": "needs a token with too little scope",
    "auths-scope-hierarchy": "needs a token with more scope than is needed",
    "base-custom-transport": "is about transports that only one project has",
    "caching-scope-access-control": _TWO,
    "cancel-log-reason": _INSIDE,
    "cancel-server-subscription-teardown": _STOPPING,
    "completion-rate-limit": _LIMITS,
    "completion-relevance": "needs a person who knows what is relevant",
    "elicit-url-not-for-mcp-auth-server": "needs a person who follows the URL",
    "elicit-user-binding-server": _TWO,
    "http-origin-absent-accepted": "every check of a server over HTTP begins that way",
    "httpm-disconnect-cancels": _INSIDE,
    "httpm-header-ows-trimmed": "whitespace is gone before a program sees a header",
    "lifecycle-server-initiated-shutdown": _ALLOWED,
    "lifecycle-server-request-timeout": _LONG,
    "logging-rate-limited": _LIMITS,
    "mrtr-state-replay-bounded": _FIXTURE,
    "progress-optional-server": _ALLOWED,
    "progress-rate-limit": _LIMITS,
    "prompts-injection-safe": _INSIDE,
    "prompts-list-paginated": _PAGES,
    "resources-access-control": _TWO,
    "resources-https-scheme": "would have to ask other servers",
    "resources-list-paginated": _PAGES,
    "resources-read-multiple": _ALLOWED,
    "resources-template-readable": "needs values for the variables",
    "resources-templates-paginated": _PAGES,
    "resume-replay": _ALLOWED,
    "roots-boundaries-server": "needs to know which arguments are paths",
    "schema-no-network-ref-server": "needs a server that takes schemas",
    "session-delete-405": _ALLOWED,
    "session-id-assigned": _ALLOWED,
    "sse-compat-hosting-server": "is about servers that want old clients, which cannot be seen",
    "stateless-explicit-handles": _INSIDE,
    "stdio-auth-from-environment": _INSIDE,
    "subs-graceful-result": _STOPPING,
    "subs-keepalive": _LONG,
    "taskc-auth-binding": _TWO,
    "taskc-input-required": _FIXTURE,
    "taske-notifications-shape": _FIXTURE,
    "tools-call-execution-error": "needs a tool that fails",
    "tools-call-invalid-args-protocol-error": "a result with isError is allowed as well",
    "tools-item-outputschema-any": _ALLOWED,
    "tools-list-paginated": _PAGES,
    "tools-rate-limit": _LIMITS,
    "versioning-dual-era-serves-legacy": _ALLOWED,
}
