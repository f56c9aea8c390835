import Bytes
import StatusCrypto
import Store
import TestSupport
import Testing

@Suite(.safetyNet) struct MembershipTests {
    private static func digest(_ number: Int) -> Digest32 { SHA256.hash([UInt8(number & 255), UInt8(number >> 8)]) }

    @Test(arguments: [2, 3, 5]) func `members share the messages evenly, and agree about each owner`(count: Int) {
        let numbers = (0..<count).map { Int64(7 + 3 * $0) }
        let members = numbers.map { number in
            var membership = Membership(number: number, at: .zero)
            _ = membership.update(owners: numbers.reversed(), memberCount: count)
            return membership
        }
        var counts: [Int64: Int] = [:]
        for digest in (0..<3_000).map(Self.digest) {
            let owners = Set(members.map { $0.owner(of: digest) })
            #expect(owners.count == 1)
            for owner in owners { counts[owner, default: 0] += 1 }
        }
        // Five standard deviations of a fair choice are less than 150.
        for number in numbers { #expect(abs((counts[number] ?? 0) - 3_000 / count) < 150) }
    }

    @Test func `only the messages of a departed member get another owner`() {
        var before = Membership(number: 1, at: .zero)
        _ = before.update(owners: [1, 2, 3], memberCount: 3)
        var after = before
        let haveChanged = after.update(owners: [1, 3], memberCount: 2)
        #expect(haveChanged)
        for digest in (0..<500).map(Self.digest) where before.owner(of: digest) != 2 {
            #expect(after.owner(of: digest) == before.owner(of: digest))
        }
    }

    @Test func `a member without a living one owns its messages itself`() {
        var membership = Membership(number: 4, at: .zero)
        let haveChanged = membership.update(owners: [], memberCount: 0)
        #expect(!haveChanged)
        #expect(membership.owner(of: Self.digest(1)) == 4)
        #expect(membership.memberCount == 1)
    }

    @Test func `a member fences others once it has renewed its lease for the time of one`() {
        let lease = ClusterLimits.lease
        var membership = Membership(number: 1, at: .zero)
        #expect(!membership.mayFence(at: lease - .seconds(1)))
        membership.renew(as: 1, at: lease - .seconds(1))
        #expect(membership.mayFence(at: lease))
        // A renewal after the end restarts the time, and so does another number.
        membership.renew(as: 1, at: lease * 3)
        #expect(!membership.mayFence(at: lease * 3 + .seconds(1)))
        #expect(membership.mayFence(at: lease * 4))
        membership.renew(as: 2, at: lease * 4 - .seconds(1))
        #expect(!membership.mayFence(at: lease * 4))
    }
}
