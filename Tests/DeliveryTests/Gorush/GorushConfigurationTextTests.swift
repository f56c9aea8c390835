import TestSupport
import Testing

@testable import Delivery

/// The configuration of gorush as a text of a peer that may be hostile.
@Suite(.safetyNet) struct GorushConfigurationTextTests {
    private func read(_ text: String) -> GorushConfigurationText? { GorushConfigurationText(Array(text.utf8)) }

    @Test func `only the settings directly below a section are its own`() throws {
        let text = try #require(
            read(
                """
                # gorush
                core:
                  Unknown: form
                    sync: false
                  sync: true
                  feedback_header:
                  - sync: false
                  pid:
                    sync: false
                  port: "8088"

                queue: local
                ios:\r
                  enabled:   true  \r
                sync: false
                  enabled: false
                """))
        #expect(text.flag("sync", in: "core") == true && text.text("port", in: "core") == "8088")
        #expect(!text.has("queue") && !text.has("sync"))
        #expect(text.flag("enabled", in: "ios") == true)
    }

    @Test(arguments: ["core:\n  sync: true\n  sync: false", "core:\n  sync: true\ncore:\n  sync: false"])
    func `a setting or section that occurs twice makes the text unreadable`(text: String) {
        #expect(read(text) == nil)
    }

    @Test(arguments: ["core:\n  sync: true\n  pid: false", "core:\n  sync: true\nios:\n  sync: false"])
    func `a text with different settings or sections is readable`(text: String) {
        #expect(read(text)?.flag("sync", in: "core") == true)
    }

    @Test(arguments: [
        "1:59", "-0", "+1", "1e3", "0x10", "1_000", "9223372036854775807:59", "12345678901", "", "*a", "&a 5", "!!int 5", "NaN",
    ])
    func `only a plain number is a number`(value: String) throws {
        let text = try #require(read("core:\n  worker_num: \(value)"))
        #expect(text.number("worker_num", in: "core").map { $0 == 0 || $0 == 1 } ?? true)
        #expect(read("core:\n  worker_num: 123456789")?.number("worker_num", in: "core") == 123_456_789)
    }

    /// 60 bytes stopped the server, and 2 KB kept it busy for ever.
    @Test func `what stops or exhausts a reader of YAML is no configuration, or has no such value`() throws {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + (0..<60).map { "b\($0): &b\($0) [*a,*a,*a,*a,*a,*a,*a,*a]\n" }.joined()
        let nesting = String(repeating: "[", count: 60_000)
        for hostile in [
            "core: {worker_num: 9223372036854775807:59}", "core:\n  *a : *a\n", "? *a\n: core\n", bomb, nesting, "core: \(nesting)",
        ] {
            #expect(GorushInstance(Array(hostile.utf8))?.core.sync == nil)
        }
        let long = "core:\n  sync: true\n" + String(repeating: " ", count: GorushConfigurationText.maximumByteCount)
        #expect(read(long) == nil && read(String(long.dropLast(100))) != nil)
    }
}
