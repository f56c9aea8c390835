import Bytes
import Testing

/// A peer's text as it may stand in a log, or on a terminal.
@Suite struct PeerTextTests {
    @Test(arguments: [
        ("a\u{0}b", "a b"), ("a\u{1B}[31mb", "a [31mb"), ("a\nb\rc", "a b c"), ("a\u{7F}b", "a b"), ("a\u{9B}b", "a b"),
        ("a\u{202E}b", "a b"), ("a\u{200B}b", "a b"), ("a\u{FEFF}b", "a b"), ("a\u{2028}b", "a b"), ("a\u{2029}b", "a b"),
        ("a b", "a b"), ("ä€🎉", "ä€🎉"), ("", ""),
    ])
    func `what controls a terminal, ends a line or reverses it is a space`(text: String, printed: String) {
        #expect(PeerText(text).description == printed)
        #expect(PeerText(utf8: Array(text.utf8)).description == printed)
    }

    @Test(arguments: [199, 200, 201, 1_000]) func `a long text ends after 200 characters`(count: Int) {
        let text = String(repeating: "é\u{301}", count: count)
        for printed in [PeerText(text), PeerText(utf8: Array(text.utf8))] {
            #expect(printed.description.unicodeScalars.count == min(text.unicodeScalars.count, 201))
        }
        let ascii = PeerText(String(repeating: "x", count: count)).description
        #expect(ascii == String(repeating: "x", count: min(count, 200)) + (count > 200 ? "…" : ""))
    }
}
