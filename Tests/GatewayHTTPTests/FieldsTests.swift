import HTTPClient
import HTTPGateways
import TestSupport
import Testing

/// Forms and JSON of untrusted clients.
@Suite(.safetyNet)
struct FieldsTests {
    @Test func `a form is decoded field by field`() throws {
        let fields = try #require(FormFields.read(Array("a=1+2%2B&b&=c&d=%C3%AB==&&a=".utf8)))
        #expect(fields.map(\.name) == ["a", "b", "", "d", "a"])
        #expect(fields.map(\.value) == ["1 2+", "", "c", "ë==", ""])
    }

    @Test(arguments: ["a=%", "a=%4", "a=%G0", "%=1", "a=%FF", String(repeating: "a&", count: 101)])
    func `a broken one is rejected`(form: String) {
        #expect(FormFields.read(Array(form.utf8)) == nil)
    }

    /// Each differs from a broken one in one thing.
    @Test(arguments: ["a=%40", "%40=1", "a=%C3%BF", String(repeating: "a&", count: 100)])
    func `a form that is not broken is accepted`(form: String) {
        #expect(FormFields.read(Array(form.utf8)) != nil)
    }

    @Test func `a JSON object keeps its plain values`() throws {
        let text = #"{"a":"x\/\u00e9","b":-1.5e3,"c":true,"d":null,"e":{"a":[1,{}]},"f":[]}"#
        let fields = try #require(JSONFields(Array(text.utf8)))
        #expect(fields.values == ["a": .string("x/é"), "b": .number("-1.5e3"), "c": .bool(true), "d": .null, "e": .nested, "f": .nested])
    }

    @Test(arguments: [
        "", "[]", "7", "null", "{", #"{"a":1}x"#, #"{"a":01x}"#, #"{"a":nan}"#, #"{"a":0x1}"#, #"{"a":1,"a":2}"#,
        #"{"a":\#(String(repeating: "[", count: 100_000))"#,
        #"{"a":\#(String(repeating: "[", count: 32) + String(repeating: "]", count: 32))}"#,
    ])
    func `any other JSON is rejected`(text: String) {
        #expect(JSONFields(Array(text.utf8)) == nil)
    }

    /// Each differs from a rejected one in one thing.
    @Test(arguments: [
        "{}", #"{"a":1}"#, #"{"a":1,"b":2}"#,
        #"{"a":\#(String(repeating: "[", count: 31) + String(repeating: "]", count: 31))}"#,
    ])
    func `a JSON object is accepted`(text: String) {
        #expect(JSONFields(Array(text.utf8)) != nil)
    }

    @Test func `a limiter forgets addresses before it fills the memory`() throws {
        var limiter = RateLimiter(1, every: .seconds(60))
        let first = try #require(IPAddress("10.0.0.0"))
        var waits = [limiter.take(for: first, at: .zero), limiter.take(for: first, at: .zero)]
        #expect(waits == [nil, .seconds(60)])
        for number in 1...200_000 {
            let address = try #require(IPAddress("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)"))
            waits.append(limiter.take(for: address, at: .zero))
        }
        #expect(waits.count { $0 != nil } == 1)
        let again = limiter.take(for: first, at: .zero)
        #expect(again == nil)
    }
}
