package import HTTPClient

/// Hands batches to one gorush (GORUSH.md).
package struct GorushClient: Sendable {
    package struct Configuration: Sendable {
        /// `http` or `https`, with a path if gorush is behind a proxy: `https://host/gorush`.
        package var url: String
        /// Such as `Authorization`, for a proxy: gorush itself has no authentication (GORUSH.md §9).
        package var headers: [(name: String, value: String)]
        /// In sync mode gorush answers when Apple or Google has: it waits up to 60 s for an iOS push (GORUSH.md §2.5).
        package var timeout: Duration
        /// gorush's `core.max_notification`; a larger batch is refused whole.
        package var maximumNotificationCount: Int

        package init(
            url: String,
            headers: [(name: String, value: String)] = [],
            timeout: Duration = .seconds(60),
            maximumNotificationCount: Int = 100
        ) {
            self.url = url
            self.headers = headers
            self.timeout = timeout
            self.maximumNotificationCount = maximumNotificationCount
        }
    }

    /// A hundred failures, a full batch of one token each, are about 50 KB. A longer answer is `GorushAnswer.unknown`.
    private static let maximumAnswerByteCount = 1 << 20

    private let http: HTTPClient
    package let configuration: Configuration
    private let url: String

    package init(http: HTTPClient, configuration: Configuration) {
        self.http = http
        self.configuration = configuration
        url = Self.endpoint(configuration.url)
    }

    /// Posts one batch, once. An empty one is accepted without asking.
    ///
    /// - Parameter notifications: at most `Configuration.maximumNotificationCount`.
    package func post(_ notifications: [IdentifiedNotification]) async -> GorushAnswer {
        guard !notifications.isEmpty else { return .accepted(failures: []) }
        guard let body = try? GorushRequestBody.encode(notifications) else { return .refused(status: nil, message: nil) }
        let request = HTTPRequest(
            method: .post,
            url: url,
            headers: configuration.headers + [("Content-Type", "application/json")],
            body: body,
            timeout: configuration.timeout,
            maximumResponseBodyByteCount: Self.maximumAnswerByteCount)
        do throws(HTTPError) {
            return GorushAnswer(try await http.send(request), expectedCount: notifications.reduce(0) { $0 + $1.expectedCount })
        } catch {
            return GorushAnswer(error)
        }
    }

    /// gorush knows neither `//api/push` nor `/api/push/` (GORUSH.md §1).
    private static func endpoint(_ base: String) -> String {
        var base = base[...]
        while base.hasSuffix("/") { base.removeLast() }
        return base + "/api/push"
    }
}
