import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// The disk under a running server begins to fail at each of its calls in turn, and some time later is put right.
@Suite(.timeLimit(.minutes(2))) struct DiskFaultTests {
    struct Fault: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var operations: FaultyDisk.Operations
        var failure: FaultyDisk.Failure

        static let all = [
            Fault(testDescription: "the disk is full", operations: .write, failure: .full),
            Fault(testDescription: "syncs fail", operations: .sync, failure: .syncError),
            Fault(testDescription: "the disk is read-only", operations: [.write, .truncate], failure: .readOnly),
        ]
    }

    @Test(arguments: Fault.all, FaultyExchange.Kind.allCases)
    func `A message under a failing disk is not taken, or hears INTERNAL_ERROR after two seconds`(
        fault: Fault, kind: FaultyExchange.Kind
    ) async throws {
        var outcomes: [FaultyExchange.Outcome] = []
        var call = 0
        var wasUnderWay = true
        while wasUnderWay {
            call += 1
            let exchange = try FaultyExchange(kind)
            outcomes.append(
                try await exchange.run { [call] disk in disk.fail(fault.operations, with: fault.failure, first: call) })
            wasUnderWay = exchange.disk.failureCount > 0
        }
        // The later on the message's way the disk fails, the better for the message; each stage is met.
        let endings = outcomes.map(\.ending.rawValue)
        #expect(endings == endings.sorted())
        #expect(Set(endings).count == FaultyExchange.Ending.allCases.count)

        let (refused, others) = (outcomes.filter { $0.ending == .internalError }, outcomes.filter { $0.ending != .internalError })
        #expect(others.allSatisfy { $0.isTroubleTold })
        withKnownIssue("a commit that writes nothing, such as the mark of INTERNAL_ERROR, passes for health", isIntermittent: true) {
            #expect(refused.allSatisfy { $0.isTroubleTold })
        }
        let (unrecorded, recorded) = (outcomes.filter { $0.ending == .notPublished }, outcomes.filter { $0.ending != .notPublished })
        #expect(recorded.allSatisfy { $0.isTroubleOver })
        withKnownIssue("where only the record failed, nothing is written until the next message comes") {
            #expect(unrecorded.allSatisfy { $0.isTroubleOver })
        }
    }
}
