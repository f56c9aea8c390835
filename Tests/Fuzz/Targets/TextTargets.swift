import Bytes
import JSON
import WakuREST

extension FuzzTarget {
    static let texts: [FuzzTarget] = [
        FuzzTarget(name: "json", vectors: ["10_message_hash"]) { input throws(Violation) in
            _ = try readBounded(input) {
                try? JSONReader.read(input) { reader throws(JSONError) in try reader.skipValue() }
            }
            guard let message = try readBounded(input, { readMessage(input) })?.decoded() else { return }
            let written = MessageJSON.request(message)
            try expect(readMessage([UInt8](written.utf8))?.decoded() == message, "a message is read as it was written")
        },
        FuzzTarget(name: "percent-encoding", vectors: ["02_topics"]) { input throws(Violation) in
            let text = String(decoding: input, as: UTF8.self)
            _ = try readBounded(input) { PercentEncoding.decode(text) }
            try expect(PercentEncoding.decode(PercentEncoding.encode(text)) == text, "an encoded text decodes to itself")
        },
        FuzzTarget(name: "hex", vectors: ["01_hashes_keys"]) { input throws(Violation) in
            let text = String(decoding: input, as: UTF8.self)
            if let bytes = try readBounded(input, { Hex.decode(text) }) {
                try expect(Hex.encode(bytes) == text.lowercased(), "hex is written as it was read, in lower case")
            }
            try expect(Hex.decode(Hex.encode(input)) == input, "encoded bytes decode to themselves")
        },
    ]

    private static func readMessage(_ input: [UInt8]) -> MessageJSON? {
        try? JSONReader.read(input) { reader throws(JSONError) in try MessageJSON(reading: &reader, as: .answer) }
    }
}
