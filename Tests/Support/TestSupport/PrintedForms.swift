import Bytes
import Foundation

/// Returns the texts that Swift prints for a value: by itself and as part of an array, an optional, a tuple, a dictionary and a dump.
package func printedForms(of value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    dump([value], to: &dumped)
    let mirrored = Mirror(reflecting: value).children.map { "\($0.label ?? "") \($0.value)" }
    return mirrored + [
        dumped, "\(value)", String(describing: value), String(reflecting: value), "\([value])", "\(Optional(value) as Any)",
        "\((value, 1))", String(reflecting: ["key": value]),
    ]
}

/// Returns the forms in which a print can show a secret: plain, in hex, in base64 and as the decimal numbers of an array.
package func readableForms(of secret: String) -> [String] {
    let bytes = Array(secret.utf8)
    return [
        secret, Hex.encode(bytes), bytes.prefix(8).map { "\($0)" }.joined(separator: ", "), Data(bytes.prefix(24)).base64EncodedString(),
    ]
}
