/// Reed–Solomon over GF(2⁸): from any k shards of a set, all its other shards.
///
/// PROTOCOL.md §5.1 writes the code as M = V · (top k×k of V)⁻¹ with V[r][c] = r^c. Row r of V evaluates a polynomial at r, and the
/// inverse finds the polynomial of degree < k that has given values at 0…k−1: so shard r is the value at r of the polynomial through
/// the data shards. Parity and recovery are then the same thing, Lagrange interpolation, and no matrix is needed.
struct ReedSolomon {
    /// The maximum number of data and parity shards: as many as the field has elements.
    static let maximumShardCount = 256

    /// A shard with its barycentric weight, 1 / Π (point − every other point).
    private let shards: [(point: UInt8, weight: UInt8, bytes: [UInt8])]
    private let byteCount: Int

    /// - Parameters:
    ///   - shards: Exactly k shards by point: data shard i at i, parity shard i at k + i. A shorter shard counts as padded with zeros.
    ///   - byteCount: A shard's length.
    init(shards: [UInt8: [UInt8]], byteCount: Int) {
        self.byteCount = byteCount
        self.shards = shards.map { point, bytes in
            let product = shards.keys.reduce(1) { product, other in
                other == point ? product : GaloisField256.multiply(product, point ^ other)
            }
            return (point, GaloisField256.inverse(of: product), bytes)
        }
    }

    /// Returns the shard at a point that is not among the given shards.
    func shard(at point: UInt8) -> [UInt8] {
        let product = shards.reduce(1) { GaloisField256.multiply($0, point ^ $1.point) }
        var sum = [UInt8](repeating: 0, count: byteCount)
        for shard in shards {
            let basis = GaloisField256.multiply(
                GaloisField256.multiply(product, GaloisField256.inverse(of: point ^ shard.point)), shard.weight)
            GaloisField256.add(basis, times: shard.bytes, to: &sum)
        }
        return sum
    }
}
