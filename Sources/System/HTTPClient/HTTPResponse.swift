import Bytes
import CLibCurl

/// A response of any status: a 404 or a 500 is a response, not an error. The client does not follow redirects.
package struct HTTPResponse: HoldsSecret, Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]

    package init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The time since 1970 in the field `Date`, to the second, or nil if it is missing or unreadable.
    package var date: Duration? {
        guard let text = headers["Date"] else { return nil }
        let time = unsafe curl_getdate(text, nil)
        return time < 0 ? nil : .seconds(time)
    }
}

/// Header fields in the order in which they arrived.
package struct HTTPHeaders: HoldsSecret, Sendable {
    package private(set) var fields: [(name: String, value: String)] = []

    package init(_ fields: [(name: String, value: String)] = []) {
        self.fields = fields
    }

    /// The value of the first field with that name, in upper or lower case (RFC 9110 §5.1).
    package subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// Returns whether a field may be sent: its name is a token, and its value does not contain control characters except the tab (RFC 9110
    /// §5.1, §5.5).
    static func isSendable(name: String, value: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in (0x21...0x7E).contains(byte) && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte) }
            && value.utf8.allSatisfy { byte in byte == 0x09 || (byte >= 0x20 && byte != 0x7F) }
    }

    /// Adds a field from its line, `Name: value`. Ignores a line without a colon.
    mutating func append(line: some BidirectionalCollection<UInt8>) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        // Optional white space around a value does not belong to it (RFC 9110 §5.5), nor does the line break.
        let value = line[line.index(after: colon)...].drop(while: Self.isSpace)
        let end = value.lastIndex { !Self.isSpace($0) }.map { value.index(after: $0) } ?? value.startIndex
        fields.append((String(decoding: line[..<colon], as: UTF8.self), String(decoding: value[..<end], as: UTF8.self)))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x09, 0x0A, 0x0D, 0x20].contains(byte) }
}
