import Bytes
import CLibCrypto
import CSecp256k1
import Envelope
import StatusCrypto
import Synchronization
import Wire

/// The time that the C libraries alone take for a message. The floor runs all of the engine's operations of libsecp256k1 and libcrypto,
/// with buffers of the same sizes. The floor includes no Keccak (libcrypto 3.0 has none), protobuf, allocation or store.
///
/// The messages of the input differ. All are prepared before the clock starts.
final class Floor: Sendable {
    private let kind: MessageKind
    private let messages: [Message]

    /// The parts of a message that the libraries get.
    private struct Message {
        /// The ephemeral key of the envelope, `04‖X‖Y`.
        var ephemeral: [UInt8]
        var sender: [UInt8]
        /// The inner signature. The outer one costs the same.
        var signature: [UInt8]
        var digest: [UInt8]
        var frame: [UInt8]
        var plaintext: [UInt8]
        var replyFrameByteCount: Int
    }

    /// The number of different inputs. More would only measure the processor's cache.
    private static let inputCount = 512

    init(_ kind: MessageKind) {
        self.kind = kind
        messages = Timing.map(0..<Self.inputCount, threadCount: 1) { number in
            let sender = BenchmarkOwners.key(kind.rawValue, number)
            let digest = BenchmarkOwners.digest("signed", number)
            return Message(
                ephemeral: BenchmarkOwners.key("ephemeral", number).publicKey.uncompressed.bytes,
                sender: sender.publicKey.uncompressed.bytes,
                signature: sender.sign(digest).bytes.bytes, digest: digest.bytes,
                frame: [UInt8](repeating: 1, count: kind.frameByteCount), plaintext: [UInt8](repeating: 2, count: 235),
                replyFrameByteCount: kind.replyFrameByteCount)
        }
    }

    /// Returns the messages a second of all threads together, and the microseconds of processor time a message.
    func measure(messageCount: Int, threadCount: Int) -> (rate: Double, processorTime: Double) {
        let processorStart = Timing.processorSeconds
        let next = Atomic<Int>(0)
        let seconds = Timing.seconds {
            Timing.onThreads(threadCount) { _ in
                let worker = FloorWorker()
                while true {
                    let number = next.add(1, ordering: .relaxed).oldValue
                    guard number < messageCount else { break }
                    run(messages[number % messages.count], on: worker)
                }
            }
        }
        let processorSeconds = Timing.processorSeconds - processorStart
        return (Double(messageCount) / seconds, processorSeconds / Double(messageCount) * 1e6)
    }

    private func run(_ message: Message, on worker: FloorWorker) {
        worker.hashEnvelope(message.frame)
        switch kind {
        case .query, .storedQuery: worker.openSymmetric(message.frame)
        case .registration, .directQuery, .push: worker.openAsymmetric(message.frame, ephemeral: message.ephemeral)
        }
        worker.checkOuterSignature(message.signature)
        worker.recover(message.signature, message.digest)
        if kind == .registration {
            worker.openRegistration(message.plaintext, sender: message.sender)
            worker.verify(message.signature, message.digest, by: message.sender)
        }
        worker.reply(to: message.sender, frameByteCount: message.replyFrameByteCount)
    }
}

extension MessageKind {
    /// The length of the decrypted envelopes of `Workload`, in blocks of 256 (PROTOCOL.md §3).
    fileprivate var frameByteCount: Int {
        switch self {
        case .push: 768
        case .registration: 512
        case .query, .storedQuery, .directQuery: 256
        }
    }

    fileprivate var replyFrameByteCount: Int {
        switch self {
        case .registration: 256
        case .query, .storedQuery, .directQuery, .push: 512
        }
    }
}
