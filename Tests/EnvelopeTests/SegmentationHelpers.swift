import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Wire

extension Timestamp {
    static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
}

enum Signers {
    /// Returns a key for each number from 1 to 65,535.
    static func key(_ number: Int) throws -> PublicKey {
        var scalar = FixedBytes<32>()
        scalar[30] = UInt8(truncatingIfNeeded: number >> 8)
        scalar[31] = UInt8(truncatingIfNeeded: number)
        return try PrivateKey(scalar).publicKey
    }
}

extension SplitMix64 {
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// Returns random bytes that do not end in 0. An `ApplicationMetadataMessage` does not either.
    mutating func message(_ count: Int) -> [UInt8] {
        bytes(count - 1) + [16]
    }
}

extension SegmentMessage {
    static func data(
        _ index: UInt32, of count: UInt32, hash: [UInt8] = Array(repeating: 7, count: 32), payload: [UInt8] = [1, 2, 3]
    ) -> SegmentMessage {
        var message = SegmentMessage()
        message.entireMessageHash = hash
        message.index = index
        message.segmentsCount = count
        message.payload = payload
        return message
    }

    static func parity(
        _ index: UInt32, of count: UInt32, hash: [UInt8] = Array(repeating: 7, count: 32), payload: [UInt8] = [1, 2, 3]
    ) -> SegmentMessage {
        var message = SegmentMessage()
        message.entireMessageHash = hash
        message.paritySegmentIndex = index
        message.paritySegmentsCount = count
        message.payload = payload
        return message
    }
}

extension SegmentAssembler {
    /// Adds unsigned segments, with their indices in the list as ids, and returns the results.
    mutating func add(_ segments: [[UInt8]]) -> [Result] {
        segments.enumerated().map { add($0.element, id: Int64($0.offset), signer: nil, now: .start) }
    }

    mutating func add(_ message: SegmentMessage, id: Int64 = 0, signer: PublicKey? = nil, now: Timestamp = .start) -> Result {
        add(message.encoded(), id: id, signer: signer, now: now)
    }
}

extension SegmentAssembler.Result {
    var message: [UInt8]? {
        if case .complete(let message, _) = self { message } else { nil }
    }
}
