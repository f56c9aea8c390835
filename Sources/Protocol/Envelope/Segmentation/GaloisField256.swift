/// Arithmetic of GF(2⁸) modulo the polynomial 0x11D (PROTOCOL.md §5.1). Adding and subtracting are both `^`.
enum GaloisField256 {
    /// Multiplies any two elements. The order of the multiplicative group is 255.
    static func multiply(_ left: UInt8, _ right: UInt8) -> UInt8 {
        guard left != 0, right != 0 else { return 0 }
        return powers[Int(logarithms[Int(left)]) + Int(logarithms[Int(right)])]
    }

    /// Returns 1 / `element`, and 0 for 0, so that the function is total.
    static func inverse(of element: UInt8) -> UInt8 {
        element == 0 ? 0 : powers[255 - Int(logarithms[Int(element)])]
    }

    /// Computes sum[i] += factor · source[i], up to the shorter length.
    static func add(_ factor: UInt8, times source: [UInt8], to sum: inout [UInt8]) {
        guard factor != 0 else { return }
        // A row of the multiplication table, so that each byte takes a single lookup, in 256 bytes that stay in the first-level cache.
        var products = InlineArray<256, UInt8>(repeating: 0)
        for byte in products.indices { products[byte] = multiply(factor, UInt8(truncatingIfNeeded: byte)) }
        let count = min(source.count, sum.count)
        let source = source.span.extracting(first: count)
        var target = sum.mutableSpan
        for index in 0..<count { target[index] ^= products[Int(source[index])] }
    }

    /// The powers 2ⁱ, twice around, so that the sum of two logarithms is an index. 2 generates the group of this polynomial.
    private static let powers: [UInt8] = {
        var element: UInt8 = 1
        return (0..<510).map { _ in
            defer { element = element << 1 ^ (element & 0x80 == 0 ? 0 : 0x1D) }
            return element
        }
    }()

    /// The exponent i of 2ⁱ. Undefined for 0.
    private static let logarithms: [UInt8] = {
        var logarithms = [UInt8](repeating: 0, count: 256)
        for exponent in 0..<255 { logarithms[Int(powers[exponent])] = UInt8(exponent) }
        return logarithms
    }()
}
