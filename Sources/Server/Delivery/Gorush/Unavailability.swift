/// The absence of a response of gorush itself.
struct Unavailability: Sendable, Equatable {
    /// The status of a proxy's response, or nil if there was no response. gorush never responds with such a status (GORUSH.md §2.2).
    var proxyStatus: Int?
    /// The delay that the proxy asked for.
    var retryAfter: Duration?

    /// The reason in words for an operator.
    var issue: String { proxyStatus.map { "a proxy answers \($0) instead of gorush" } ?? "gorush is not reachable" }
}
