import Bytes
import HTTPClient
import StatusCrypto
import Store
import TestSupport

@testable import Delivery

/// gorush, Apple and Google in one: accepts requests, delivers, fails, and loses responses.
struct Gorush {
    struct Faults {
        /// Whether gorush is unreachable.
        var isAway = false
        /// Whether gorush handles requests, but its responses do not arrive.
        var losesAnswers = false
        /// Whether gorush handles requests, but the caller times out.
        var isSlow = false
        /// Whether gorush returns 503 and handles no request.
        var isBusy = false
        /// Whether gorush accepts only one notification a request.
        var isNarrow = false
    }

    var faults = Faults()
    /// The number of times that each push reached a device.
    private(set) var deliveryCounts: [Int64: Int] = [:]
    /// The collapse identifier of each push, by its id. Devices show pushes with equal identifiers as one.
    private var collapseIdentifiers: [Int64: String] = [:]
    /// The device tokens of deleted apps.
    private var deadTokens: Set<DeviceToken> = []

    mutating func kill(token: DeviceToken) { deadTokens.insert(token) }
    func isDead(_ token: DeviceToken) -> Bool { deadTokens.contains(token) }

    /// The instance that gorush reports.
    var probe: GorushClient.Probe {
        if faults.isAway { return .unreachable(Unavailability()) }
        return Self.instance.map { .instance($0) } ?? .silent
    }

    private static let instance = GorushInstance(
        Array(
            """
            core:
              sync: true
              max_notification: 100
              worker_num: 96
              queue_num: 8192
            queue:
              engine: local
            ios:
              enabled: true
              production: true
              max_concurrent_pushes: 100
              max_retry: 0
            android:
              enabled: true
              max_retry: 0
            """.utf8))

    /// Handles a request, unless it does not arrive.
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
