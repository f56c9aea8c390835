import Bytes
import Envelope
import StatusCrypto
import Wire

/// An assembler of segments with one fault, and without parity.
struct WrongAssembler: Sendable {
    private struct Key: Hashable {
        var signer: PublicKey?
        var hash: [UInt8]
    }

    let fault: Assembly.Fault
    private var sets: [Key: [UInt32: [UInt8]]] = [:]

    init(_ fault: Assembly.Fault) { self.fault = fault }

    /// - Returns: The data of a message, or nil if it waits for further segments or is dropped.
    mutating func add(_ frame: OpenFrame, from source: Source) -> [UInt8]? {
        guard SegmentMessage.isSegment(frame.data), let segment = try? SegmentMessage.decode(frame.data) else {
            if fault == .forgetsBetween { sets = [:] }
            return frame.data
        }
        if fault == .ignoresQueries, case .query = source { return nil }
        guard segment.segmentsCount > 0, segment.index < segment.segmentsCount, segment.segmentsCount < 1_000 else { return nil }
        let key = Key(signer: fault == .mixesSigners ? nil : frame.signer, hash: segment.entireMessageHash)
        if fault == .keepsOneMessage, sets[key] == nil { sets = [:] }
        var set = sets[key, default: [:]]
        if fault == .needsOrder, segment.index != UInt32(set.count) { return nil }
        if set[segment.index] != nil {
            if fault == .breaksOnDuplicates { sets[key] = nil }
            return nil
        }
        set[segment.index] = segment.payload
        sets[key] = set
        guard set.count == Int(segment.segmentsCount) else { return nil }
        sets[key] = nil
        let data = (0..<segment.segmentsCount).flatMap { set[$0] ?? [] }
        return fault == .ignoresHash || Keccak.keccak256(data).bytes == segment.entireMessageHash ? data : nil
    }
}
