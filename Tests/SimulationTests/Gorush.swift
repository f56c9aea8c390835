import HTTPClient
import StatusCrypto
import Store
import TestSupport

@testable import Delivery

/// gorush, Apple and Google in one: takes requests, delivers, fails, and loses answers.
struct Gorush {
    struct Faults {
        /// Nobody is there.
        var isAway = false
        /// What was asked for is done, and the answer does not arrive.
        var losesAnswers = false
        /// The same, but the caller waits for it in vain.
        var isSlow = false
        /// Answers 503 and does nothing.
        var isBusy = false
        /// Takes one notification a request.
        var isNarrow = false
    }

    var faults = Faults()
    /// How often each push reached a phone.
    private(set) var deliveryCounts: [Int64: Int] = [:]
    /// Under which identifier phones show them as one, by push.
    private var collapseIdentifiers: [Int64: String] = [:]
    /// Apps that were deleted.
    private var deadTokens: Set<DeviceToken> = []

    mutating func kill(token: DeviceToken) { deadTokens.insert(token) }
    func isDead(_ token: DeviceToken) -> Bool { deadTokens.contains(token) }

    /// What it says of itself.
    var probe: GorushClient.Probe {
        if faults.isAway { return .unreachable }
        return Self.instance.map { .instance($0) } ?? .silent
    }

    private static let instance = GorushInstance(
        yaml: Array(
            """
            core: {sync: true, max_notification: 100, worker_num: 96, queue_num: 8192}
            ios: {enabled: true, production: true, max_concurrent_pushes: 100, max_retry: 0}
            android: {enabled: true, max_retry: 0}
            """.utf8))

    /// A request arrives, or does not.
    mutating func post(_ batch: [DeliveryItem]) throws(Violation) -> GorushResponse {
        if faults.isAway { return GorushResponse(HTTPError(.couldNotConnect, requestMayHaveArrived: false)) }
        if faults.isBusy { return answer(503, "") }
        if faults.isNarrow, batch.count > 1 {
            return answer(400, #"{"code":400,"message":"Number of notifications(\#(batch.count)) over limit(1)"}"#)
        }
        var logs: [String] = []
        for item in batch {
            for (token, push) in zip(item.notification.tokens, item.pushes) {
                let collapse = item.notification.collapseIdentifier ?? ""
                try expect(
                    collapseIdentifiers.updateValue(collapse, forKey: push.id) ?? collapse == collapse,
                    "all attempts of a push have one collapse identifier: push \(push.id)")
                if deadTokens.contains(token) {
                    logs.append(Self.failure(of: item, token))
                } else {
                    deliveryCounts[push.id, default: 0] += 1
                }
            }
        }
        if faults.losesAnswers { return GorushResponse(HTTPError(.connectionLost, requestMayHaveArrived: true)) }
        if faults.isSlow { return GorushResponse(HTTPError(.timedOut, requestMayHaveArrived: true)) }
        let count = batch.reduce(0) { $0 + $1.notification.expectedCount }
        return answer(200, #"{"counts":\#(count),"logs":[\#(logs.joined(separator: ","))],"success":"ok"}"#, expecting: count)
    }

    private static func failure(of item: DeliveryItem, _ token: DeviceToken) -> String {
        let error = item.notification.platform == .ios ? "Unregistered" : "Requested entity was not found."
        return #"{"notif_id":"\#(item.notification.identifier ?? "")","type":"failed-push","token":"\#(token.text)","error":"\#(error)"}"#
    }

    private func answer(_ status: Int, _ body: String, expecting count: Int = 0) -> GorushResponse {
        GorushResponse(HTTPResponse(status: status, body: Array(body.utf8)), expectedCount: count)
    }
}
