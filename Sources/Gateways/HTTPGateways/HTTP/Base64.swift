import FoundationEssentials

/// Standard base64 with padding.
func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

/// Decodes standard base64 with padding. A space stands for a `+` that a client did not encode.
func base64(_ text: String) -> [UInt8]? {
    if let data = Data(base64Encoded: text) { return [UInt8](data) }
    guard text.utf8.contains(UInt8(ascii: " ")) else { return nil }
    // `replacing` takes longer than the signature that the text may be.
    let standard = text.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }
    return Data(base64Encoded: Data(standard)).map { [UInt8]($0) }
}
