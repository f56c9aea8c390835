import FoundationEssentials

/// Standard base64 with padding.
func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
