import Bytes
import PushProtocol
import StatusCrypto
import Store

/// The rows of the database that several servers share, at one moment. Times are milliseconds by the clock of the database.
struct ClusterRows: Sendable {
    struct Server: Sendable {
        var name: String
        var leaseEnd: Int64
        var isLeaving: Bool
        var isFenced: Bool
    }

    struct Message: Sendable {
        var hash: Digest32
        var server: Int64
        var isTaken: Bool
        var recordedAt: Int64
        var state: MessageState
        var isUnfinished: Bool
    }

    struct Push: Sendable {
        var server: Int64
        /// An ``OpenPushState`` or, once it has finished, a `PushOutcome`.
        var state: Int64
        var isOpen: Bool
        /// The number of attempts that have ended.
        var attemptCount: Int64

        func `is`(_ state: OpenPushState) -> Bool { isOpen && self.state == state.rawValue }
        func `is`(_ outcome: PushOutcome) -> Bool { !isOpen && state == outcome.rawValue }
    }

    struct Job: Sendable {
        var server: Int64
        var leaseEnd: Int64
    }

    var servers: [Int64: Server] = [:]
    var messages: [Int64: Message] = [:]
    var pushes: [Int64: Push] = [:]
    var jobs: [String: Job] = [:]
    var phones: [Installation: ReferenceModel.Phone] = [:]
}
