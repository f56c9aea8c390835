import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct SegmentationVectorTests {
    @Test(arguments: try SegmentationVectors.load().cuts)
    func `a message is segmented as by the reference`(_ vector: SegmentationVectors.Cut) {
        let segments = Segmenter(segmentByteCount: vector.segmentByteCount).segment(vector.payload.bytes)
        #expect(segments == vector.segments.map(\.raw.bytes))
    }

    @Test(arguments: try SegmentationVectors.load().cuts.filter { $0.segments.count > 1 })
    func `segments of the reference are assembled`(_ vector: SegmentationVectors.Cut) {
        var assembler = SegmentAssembler()
        let messages = assembler.add(vector.segments.map(\.raw.bytes)).compactMap(\.message)
        #expect(messages == [vector.payload.bytes])
        #expect(assembler.byteCount == 0)
    }

    @Test(arguments: try SegmentationVectors.load().feedings)
    func `the assembler delivers when the reference does, in any order`(_ vector: SegmentationVectors.Feeding) throws {
        let signers = ["alice": try Signers.key(1), "bob": try Signers.key(2)]
        var assembler = SegmentAssembler()
        for (number, step) in vector.steps.enumerated() {
            let signer = try #require(signers[step.signer])
            let result = assembler.add(step.segment.bytes, id: Int64(number), signer: signer, now: .start)
            let message = result == .notASegment ? step.segment.bytes : result.message
            let opened = message.flatMap { try? ApplicationMetadata.open($0) }
            if vector.name.hasPrefix("last data segment late, parity first") {
                // The reference keeps the padding and never delivers. Our assembler delivers with the parity, and later segments are late.
                #expect((opened != nil) == (number == 8))
                #expect((result == .late) == (number == 9))
            } else {
                #expect((opened != nil) == step.isDelivered)
                #expect(opened?.payload == step.applicationPayload?.bytes)
                #expect(opened?.messageID.bytes == step.messageID?.bytes)
                #expect((result == .late) == (step.error == "message segments already completed"))
            }
        }
    }

    @Test(
        arguments: [
            ("malformed: segments_count 1", [.notASegment]),
            ("malformed: segments_count 0 and parity 0", [.notASegment]),
            ("malformed: no payload", [.notASegment]),
            ("malformed: index >= segments_count, count 2, both", [.invalid(.indexOutOfRange, ids: [0])]),
            ("malformed: empty hash", [.invalid(.hashByteCount, ids: [0])]),
            ("malformed: huge count", [.invalid(.tooManySegments, ids: [0])]),
            ("malformed: only parity", [.incomplete(evicted: [])]),
            ("complete but the hash does not match", [.incomplete(evicted: []), .invalid(.hashMismatch, ids: [0, 1])]),
        ] as [(String, [SegmentAssembler.Result])])
    func `segments that the reference rejects have a reason`(name: String, results: [SegmentAssembler.Result]) throws {
        let vector = try #require(try SegmentationVectors.load().feedings.first { $0.name == name })
        var assembler = SegmentAssembler()
        #expect(assembler.add(vector.steps.map(\.segment.bytes)) == results)
    }
}

/// The world "segmented registration" of golden vectors 08: eight of nine segments, and then a late one.
@Suite(.safetyNet) struct SegmentedRegistrationTests {
    private struct File: Decodable {
        struct World: Decodable {
            let name: String
            let server_private_key: HexBytes
            let steps: [Step]
        }

        struct Step: Decodable {
            let note: String
            let `in`: Envelope
        }

        struct Envelope: Decodable {
            let payload: Base64Bytes
        }

        let worlds: [World]
    }

    @Test func `a registration in segments, one of them lost, is rebuilt from the envelopes of a reference client`() throws {
        let worlds = try Vectors.load("08_e2e", as: File.self).worlds
        let world = try #require(worlds.first { $0.name == "segmented registration" })
        let server = try world.server_private_key.privateKey()
        var assembler = SegmentAssembler()
        var results: [SegmentAssembler.Result] = []
        for step in world.steps where step.note.contains("segment") {
            let frame = try RFC26.openAsymmetric(step.in.payload.bytes, with: server)
            results.append(assembler.add(frame.data, id: Int64(results.count), signer: frame.signer(), now: .start))
        }
        #expect(results.count == 10)
        #expect(results.prefix(8).allSatisfy { $0 == .incomplete(evicted: []) })
        let message = try #require(results[8].message)
        #expect(try ApplicationMetadata.open(message).type == .pushNotificationRegistration)
        #expect(results[8] == .complete(message, ids: Array(0...8)))
        #expect(results[9] == .late)
    }
}
