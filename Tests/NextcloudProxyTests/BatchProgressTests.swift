import Bytes
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import HTTPGateways

@Suite(.safetyNet)
struct BatchProgressTests {
    private static func accepted(_ number: Int) -> AcceptedNotification {
        AcceptedNotification(
            GatewayNotification(platform: .ios, token: "\(number)", kind: .alert, priority: .normal, data: [:]),
            digest: Digest32(repeating: UInt8(truncatingIfNeeded: number)))
    }

    /// Returns the event for the entries of a part, all accepted.
    private static func judged(_ part: Range<Int>) -> BatchProgress.Event { .judged(part, part.map { .accepted(accepted($0)) }) }

    @Test func `a batch without entries does no work`() {
        var progress = BatchProgress(entryCount: 0, maximumPartCount: 4)
        #expect(progress.begin().isEmpty)
    }

    @Test func `the last part contains the remaining entries`() {
        var progress = BatchProgress(entryCount: 129, maximumPartCount: 4)
        #expect(progress.begin() == [.judge(0..<64), .judge(64..<128), .judge(128..<129)])
    }

    @Test func `a next part begins when a part is counted, not when one is judged`() {
        var progress = BatchProgress(entryCount: 256, maximumPartCount: 2)
        #expect(progress.begin() == [.judge(0..<64), .judge(64..<128)])
        let failed = Array(repeating: Batch.EntryResult.failed, count: 64)
        #expect(progress.handle(.judged(64..<128, failed)).isEmpty)
        #expect(
            progress.handle(.judged(0..<64, failed))
                == [.count(failed), .count(failed), .judge(128..<192), .judge(192..<256)])
    }

    @Test func `accepted entries are written in their order, one write at a time`() {
        var progress = BatchProgress(entryCount: 192, maximumPartCount: 3)
        _ = progress.begin()
        #expect(progress.handle(Self.judged(64..<128)).isEmpty)
        #expect(progress.handle(Self.judged(0..<64)).last == .write((0..<128).map(Self.accepted)))
        #expect(progress.handle(Self.judged(128..<192)) == [.count((128..<192).map { .accepted(Self.accepted($0)) })])
        #expect(progress.handle(.written) == [.write((128..<192).map(Self.accepted))])
        #expect(progress.handle(.written).isEmpty)
    }

    @Test func `a write contains at most 1,024 entries`() {
        var progress = BatchProgress(entryCount: 1_200, maximumPartCount: 20)
        let parts = progress.begin().compactMap { if case .judge(let part) = $0 { part } else { nil } }
        for part in parts.dropFirst() { _ = progress.handle(Self.judged(part)) }
        #expect(progress.handle(Self.judged(parts[0])).last == .write((0..<1_024).map(Self.accepted)))
        #expect(progress.handle(.written) == [.write((1_024..<1_200).map(Self.accepted))])
    }

    @Test func `only accepted entries are written`() {
        var progress = BatchProgress(entryCount: 3, maximumPartCount: 1)
        _ = progress.begin()
        let judgements: [Batch.EntryResult] = [.failed, .accepted(Self.accepted(1)), .failed]
        #expect(progress.handle(.judged(0..<3, judgements)) == [.count(judgements), .write([Self.accepted(1)])])
    }
}
