/// What is known when gorush itself does not respond.
struct Unavailability: Sendable, Equatable {
    /// A proxy's status, or nil if nothing responded. gorush never responds with such a status (GORUSH.md §2.2).
    var proxyStatus: Int?
    /// The delay that the proxy asked for.
    var retryAfter: Duration?

    /// The reason in words for an operator.
    var issue: String { proxyStatus.map { "a proxy answers \($0) instead of gorush" } ?? "gorush is not reachable" }
}
