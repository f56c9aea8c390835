import Bytes
import PushProtocol
import Store
import TestSupport
import Testing

@testable import Delivery

/// What gorush's responses mean for the pushes of a batch.
@Suite(.safetyNet) struct ResponseInterpretationTests {
    /// A batch of notifications, each with one push or more.
    private func batch(_ pushCounts: Int...) -> [DeliveryItem] {
        var number = 0
        return pushCounts.enumerated().map { index, count in
            let pushes = queued((number..<number + count).map { androidPush($0) })
            number += count
            let notification = GorushNotification.android("n-\(index)", tokens: pushes.map(\.push.deviceToken.text))
            return DeliveryItem(identifier: FixedBytes(repeating: UInt8(index)), notification: notification, pushes: pushes)
        }
    }

    private func read(_ response: GorushResponse, _ batch: [DeliveryItem], retriesItself: Bool = false) -> ResponseInterpretation {
        ResponseInterpretation(response, batch: batch, retriesItself: retriesItself)
    }

    @Test(arguments: [(3, 8, 3), (7, 8, 7), (8, 8, 7), (100, 8, 7), (100, 2, 1)])
    func `a limit of gorush makes the next batch smaller than this one, whatever it says`(says: Int, count: Int, becomes: Int) {
        let items = (0..<count).flatMap { _ in batch(1) }
        #expect(read(.overLimit(says), items) == .limit(becomes))
    }

    @Test func `a gorush that rejects a single notification fails`() {
        guard case .outcomes(let outcomes, .away) = read(.overLimit(100), batch(1)) else {
            Issue.record("not failing")
            return
        }
        #expect(outcomes == [.notSent(reason: .overLimit)])
    }

    @Test(arguments: [false, true])
    func `only a gorush that retries by itself leaves the result of a transient failure unknown`(retriesItself: Bool) {
        func outcome(_ words: String) -> AttemptOutcome? {
            let response = GorushResponse.accepted(failures: [GorushFailure(identifier: "n-0", error: words, token: nil)])
            guard case .outcomes(let outcomes, .answered) = read(response, batch(1), retriesItself: retriesItself) else { return nil }
            return outcomes.first
        }
        let unavailable = Failure(kind: .transient, reason: .serviceUnavailable)
        #expect(outcome("ServiceUnavailable") == (retriesItself ? .unknown(reason: .serviceUnavailable) : .failed(unavailable)))
        #expect(outcome("BadDeviceToken") == .failed(Failure(kind: .refusedDevice, reason: .badDeviceToken)))
    }

    @Test func `a failure that names no device concerns all devices of its notification, and no other notification`() {
        let response = GorushResponse.accepted(failures: [GorushFailure(identifier: "n-0", error: "ServiceUnavailable", token: "")])
        let failed = AttemptOutcome.failed(Failure(kind: .transient, reason: .serviceUnavailable))
        #expect(read(response, batch(2, 2)) == .outcomes([failed, failed, .sent, .sent], .answered))
    }

    @Test func `a failure that names a device concerns that one alone`() {
        let token = androidPush(1).deviceToken
        let response = GorushResponse.accepted(failures: [GorushFailure(identifier: "n-0", error: "ServiceUnavailable", token: token)])
        let failed = AttemptOutcome.failed(Failure(kind: .transient, reason: .serviceUnavailable))
        #expect(read(response, batch(2, 2)) == .outcomes([.sent, failed, .sent, .sent], .answered))
    }

    @Test func `a refused batch is halved until the push is alone, which keeps gorush's words`() {
        let response = GorushResponse.refused(message: "Missing notifications field.")
        #expect(read(response, batch(1, 1)) == .divide && read(response, batch(2)) == .divide)
        let failure = Failure(kind: .refusedPush, reason: .rejectedByGorush, words: "Missing notifications field.")
        #expect(read(response, batch(1)) == .outcomes([.failed(failure)], .answered))
    }

    @Test func `each response shows whether gorush is there, and what waits`() {
        func one(_ response: GorushResponse) -> ResponseInterpretation { read(response, batch(1)) }
        let proxy = Unavailability(proxyStatus: 503, retryAfter: .seconds(7))
        #expect(one(.busy(proxy)) == .outcomes([.passing(reason: .proxyAnswered, retryAfter: .seconds(7))], .busy(status: 503)))
        #expect(
            one(.unavailable(proxy)) == .outcomes([.notSent(reason: .proxyAnswered)], .away(issue: "a proxy answers 503 instead of gorush"))
        )
        #expect(one(.tooLarge) == .outcomes([.passing(reason: .bodyTooLarge, retryAfter: nil)], .silent))
        #expect(one(.timedOut(nil)) == .outcomes([.unknown(reason: .noResponseInTime)], .silent))
        #expect(one(.timedOut(proxy)) == .outcomes([.unknown(reason: .proxyTimedOut)], .away(issue: proxy.issue)))
        #expect(one(.late) == .outcomes([.unknown(reason: .proxyTimedOut)], .silent))
        #expect(one(.unknown) == .outcomes([.unknown(reason: .noResponse)], .broken))
        #expect(one(.broken) == .outcomes([.broken], .broken))
        #expect(one(.short(expected: 2, counted: 1)) == .outcomes([.unknown(reason: .wrongCount)], .answered))
        #expect(one(.unfit(issue: "x")) == .outcomes([.notSent(reason: .configuration)], .away(issue: "x")))
    }

    @Test(arguments: [true, false])
    func `words about a token of another kind are about the device only if it never worked`(hasWorked: Bool) {
        var items = batch(1)
        if hasWorked { items[0].pushes[0].tokenDeliveries = Deliveries(first: World.start, last: World.start) }
        let words = "Auth error from APNS or Web Push Service"
        let response = GorushResponse.accepted(failures: [GorushFailure(identifier: "n-0", error: words, token: nil)])
        let failure = Failure(kind: hasWorked ? .operatorFault : .refusedDevice, reason: .apnsAuthorization, words: words)
        #expect(read(response, items) == .outcomes([.failed(failure)], .answered))
    }
}
