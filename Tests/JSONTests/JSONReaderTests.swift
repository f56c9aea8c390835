import Bytes
import TestSupport
import Testing

@testable import JSON

@Suite(.safetyNet) struct JSONReaderTests {
    func integer(_ text: String) throws(JSONError) -> Int64 {
        try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.readInteger() }
    }

    func string(_ text: String) throws(JSONError) -> String {
        try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.readString() }
    }

    func skip(_ text: String) throws(JSONError) {
        try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.skipValue() }
    }

    @Test(arguments: [
        ("0", 0), ("-1", -1), (" 1681964442000000001 ", 1_681_964_442_000_000_001), ("9223372036854775807", .max),
        ("-9223372036854775808", .min),
    ])
    func `reads integers exactly`(text: String, value: Int64) throws {
        #expect(try integer(text) == value)
    }

    @Test(arguments: ["", "-", "01", "1.0", "1e3", "+1", "9223372036854775808", "\"1\"", "null", "1 2", "١"])
    func `rejects other texts as integers`(text: String) {
        #expect(throws: JSONError.self) { try integer(text) }
    }

    @Test(arguments: [
        (#""""#, ""), (#""a b""#, "a b"), (#""\/\"\\\b\f\n\r\t""#, "/\"\\\u{8}\u{c}\n\r\t"), (#""\u00e4\uD83D\uDE00x""#, "ä😀x"),
        (#""ä😀""#, "ä😀"),
    ])
    func `reads strings with all escapes`(text: String, value: String) throws {
        #expect(try string(text) == value)
        #expect(try string(JSONText.string(value)) == value)
    }

    @Test(arguments: [
        "\"", "\"a", "\"\\", "\"\\u", "\"\\u12", "\"\\u12\"", "\"\\x\"", "\"\\ud83d\"", "\"\\ud83d\\u0041\"", "\"\\ude00\"", "\"\\u+123\"",
        "\"a\nb\"", "'a'", "a",
    ])
    func `rejects malformed strings`(text: String) {
        #expect(throws: JSONError.self) { try string(text) }
    }

    @Test func `rejects text that is not UTF-8`() throws {
        func read(_ byte: UInt8) throws(JSONError) -> String {
            try JSONReader.read([0x22, byte, 0x22]) { reader throws(JSONError) in try reader.readString() }
        }
        #expect(throws: JSONError.self) { try read(0xFF) }
        #expect(try read(0x7F) == "\u{7F}")
    }

    @Test(arguments: ["{}", "[]", #" { "a" : [ 1 , -2.5e3 , true , null ] , "b" : { } } "#, "false", "1.5"])
    func `skips any value`(text: String) throws {
        try skip(text)
    }

    @Test(arguments: [
        "", "{", "[", "[1", "[1,", "[1,]", "[,1]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#, #"{"a":1 "b":2}"#, "[1 2]", "]",
        "nul", "{}{}",
        #"{"a":1,"a":2}"#,
    ])
    func `rejects malformed JSON and repeated keys`(text: String) {
        #expect(throws: JSONError.self) { try skip(text) }
    }

    @Test func `limits the depth of nesting`() throws {
        let limit = JSONReader.maximumDepth
        func text(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        try skip(text(limit))
        #expect(throws: JSONError.self) { try skip(text(limit + 1)) }
        #expect(throws: JSONError.self) { try skip(String(repeating: "[", count: 1_000_000)) }
    }

    @Test(arguments: [("[", "{}", "]"), ("[", "[]", "]"), ("[", "0", "]")])
    func `limits the number of values, however deep they are`(open: String, value: String, close: String) throws {
        func text(_ count: Int) -> String { open + Array(repeating: value, count: count).joined(separator: ",") + close }
        try skip(text(JSONReader.maximumValueCount))
        #expect(throws: JSONError.self) { try skip(text(JSONReader.maximumValueCount + 1)) }
        let half = text(JSONReader.maximumValueCount / 2)
        #expect(throws: JSONError.self) { try skip("[\(half),\(half)]") }
        // The two halves are values too.
        let less = text(JSONReader.maximumValueCount / 2 - 1)
        try skip("[\(less),\(less)]")
    }

    @Test func `members count as values`() throws {
        func text(_ count: Int) -> String { "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
        try skip(text(JSONReader.maximumValueCount))
        #expect(throws: JSONError.self) { try skip(text(JSONReader.maximumValueCount + 1)) }
    }

    @Test func `a caller that expects more values may raise the limit, or lower it`() throws {
        func read(_ text: String, _ count: Int) throws {
            try JSONReader.read(Array(text.utf8), maximumValueCount: count) { reader throws(JSONError) in try reader.skipValue() }
        }
        try read("[0,[0]]", 3)
        #expect(throws: JSONError.self) { try read("[0,[0]]", 2) }
    }

    @Test func `an error shortens the key of a peer`() {
        let key = String(repeating: "k", count: 1_000_000)
        let error = #expect(throws: JSONError.self) { try skip("{\"\(key)\":1,\"\(key)\":2}") }
        #expect((error?.reason.count ?? .max) < PeerText.maximumCharacterCount + 50)
    }

    @Test func `decodes what the reader accepts, and nothing that is too deep, too many or ambiguous`() throws {
        #expect(try JSON.decode([String: [Int]].self, from: Array(#"{"a":[1,2]}"#.utf8)) == ["a": [1, 2]])
        func many(_ count: Int) -> String { "[" + Array(repeating: "{}", count: count).joined(separator: ",") + "]" }
        func deep(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        struct Anything: Decodable {}
        for text in [many(JSONReader.maximumValueCount), deep(32), #"{"a":1,"b":2}"#, "{}", "1"] {
            _ = try JSON.decode(Anything.self, from: Array(text.utf8))
        }
        for text in [many(JSONReader.maximumValueCount + 1), deep(33), #"{"a":1,"a":2}"#, "{", "1 2"] {
            #expect(throws: JSONError.self, "\(text.prefix(20))") { try JSON.decode(Anything.self, from: Array(text.utf8)) }
        }
        #expect(throws: DecodingError.self) { try JSON.decode(Int.self, from: Array("[]".utf8)) }
    }

    @Test func `reports the position of an error`() {
        #expect(throws: JSONError(line: 2, column: 22, reason: "an integer out of range")) { try integer("\n 99999999999999999999") }
    }

    @Test(
        arguments: [
            ("", []), ("AQ==", [1]), ("AQ", [1]), ("AQI", [1, 2]), ("+/8=", [0xFB, 0xFF]),
        ] as [(String, [UInt8])])
    func `reads base64 with or without padding`(text: String, bytes: [UInt8]) {
        #expect(Base64.decode(Array(text.utf8)[...]) == bytes)
    }

    @Test(arguments: ["A", "A===", "-_8=", "AQ= =", "A Q==", "AQ==AQ==", "ä"])
    func `rejects other base64`(text: String) {
        #expect(Base64.decode(Array(text.utf8)[...]) == nil)
    }
}
