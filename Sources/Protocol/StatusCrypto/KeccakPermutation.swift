/// Keccak-f[1600], FIPS 202 §3.3. All lanes are local variables: no index is checked and nothing is copied in the 24 rounds.
enum KeccakPermutation {
    static func apply(to lanes: inout InlineArray<25, UInt64>) {
        var a = Plane(lanes, from: 0)
        var b = Plane(lanes, from: 5)
        var c = Plane(lanes, from: 10)
        var d = Plane(lanes, from: 15)
        var e = Plane(lanes, from: 20)

        for round in 0..<24 {
            // θ: every lane takes the parity of two neighbouring columns.
            let column = Plane(
                a.x0 ^ b.x0 ^ c.x0 ^ d.x0 ^ e.x0, a.x1 ^ b.x1 ^ c.x1 ^ d.x1 ^ e.x1, a.x2 ^ b.x2 ^ c.x2 ^ d.x2 ^ e.x2,
                a.x3 ^ b.x3 ^ c.x3 ^ d.x3 ^ e.x3, a.x4 ^ b.x4 ^ c.x4 ^ d.x4 ^ e.x4)
            let parity = Plane(
                column.x4 ^ rotate(column.x1, 1), column.x0 ^ rotate(column.x2, 1), column.x1 ^ rotate(column.x3, 1),
                column.x2 ^ rotate(column.x4, 1), column.x3 ^ rotate(column.x0, 1))
            a.add(parity)
            b.add(parity)
            c.add(parity)
            d.add(parity)
            e.add(parity)

            // ρ rotates each lane by its own offset, π moves it.
            let f = Plane(a.x0, rotate(b.x1, 44), rotate(c.x2, 43), rotate(d.x3, 21), rotate(e.x4, 14))
            let g = Plane(rotate(a.x3, 28), rotate(b.x4, 20), rotate(c.x0, 3), rotate(d.x1, 45), rotate(e.x2, 61))
            let h = Plane(rotate(a.x1, 1), rotate(b.x2, 6), rotate(c.x3, 25), rotate(d.x4, 8), rotate(e.x0, 18))
            let i = Plane(rotate(a.x4, 27), rotate(b.x0, 36), rotate(c.x1, 10), rotate(d.x2, 15), rotate(e.x3, 56))
            let j = Plane(rotate(a.x2, 62), rotate(b.x3, 55), rotate(c.x4, 39), rotate(d.x0, 41), rotate(e.x1, 2))

            a = f.mixed
            b = g.mixed
            c = h.mixed
            d = i.mixed
            e = j.mixed

            a.x0 ^= roundConstants[round]  // ι
        }

        a.store(in: &lanes, from: 0)
        b.store(in: &lanes, from: 5)
        c.store(in: &lanes, from: 10)
        d.store(in: &lanes, from: 15)
        e.store(in: &lanes, from: 20)
    }

    @inline(__always)
    private static func rotate(_ lane: UInt64, _ count: UInt64) -> UInt64 { lane &<< count | lane &>> (64 &- count) }

    private static let roundConstants: InlineArray<24, UInt64> = [
        0x0000_0000_0000_0001, 0x0000_0000_0000_8082, 0x8000_0000_0000_808A, 0x8000_0000_8000_8000,
        0x0000_0000_0000_808B, 0x0000_0000_8000_0001, 0x8000_0000_8000_8081, 0x8000_0000_0000_8009,
        0x0000_0000_0000_008A, 0x0000_0000_0000_0088, 0x0000_0000_8000_8009, 0x0000_0000_8000_000A,
        0x0000_0000_8000_808B, 0x8000_0000_0000_008B, 0x8000_0000_0000_8089, 0x8000_0000_0000_8003,
        0x8000_0000_0000_8002, 0x8000_0000_0000_0080, 0x0000_0000_0000_800A, 0x8000_0000_8000_000A,
        0x8000_0000_8000_8081, 0x8000_0000_0000_8080, 0x0000_0000_8000_0001, 0x8000_0000_8000_8008,
    ]
}

/// Five lanes with the same y.
private struct Plane {
    var x0, x1, x2, x3, x4: UInt64

    @inline(__always)
    init(_ x0: UInt64, _ x1: UInt64, _ x2: UInt64, _ x3: UInt64, _ x4: UInt64) {
        (self.x0, self.x1, self.x2, self.x3, self.x4) = (x0, x1, x2, x3, x4)
    }

    @inline(__always)
    init(_ lanes: borrowing InlineArray<25, UInt64>, from start: Int) {
        self.init(lanes[start], lanes[start + 1], lanes[start + 2], lanes[start + 3], lanes[start + 4])
    }

    @inline(__always)
    func store(in lanes: inout InlineArray<25, UInt64>, from start: Int) {
        (lanes[start], lanes[start + 1], lanes[start + 2], lanes[start + 3], lanes[start + 4]) = (x0, x1, x2, x3, x4)
    }

    @inline(__always)
    mutating func add(_ other: Plane) {
        (x0, x1, x2, x3, x4) = (x0 ^ other.x0, x1 ^ other.x1, x2 ^ other.x2, x3 ^ other.x3, x4 ^ other.x4)
    }

    /// χ: the only step that is not linear.
    @inline(__always)
    var mixed: Plane {
        Plane(x0 ^ (~x1 & x2), x1 ^ (~x2 & x3), x2 ^ (~x3 & x4), x3 ^ (~x4 & x0), x4 ^ (~x0 & x1))
    }
}
