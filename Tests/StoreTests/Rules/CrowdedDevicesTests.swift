import Bytes
import Envelope
import Store
import TestSupport
import Testing

struct CrowdedDevicesTests {
    private func device(_ number: UInt8) -> DeviceCode { DeviceCode(repeating: number) }

    /// How many pushes of each device end after a search, largest first.
    private func ends(_ counts: [Int], room: Int) -> [Int] {
        var crowded = CrowdedDevices()
        crowded.found(counts.enumerated().map { (device(UInt8($0)), $1) }, room: room, at: start)
        var ends = counts.map { _ in 0 }
        while let next = crowded.next() {
            #expect(next.count <= CrowdedDevices.portion)
            for index in counts.indices where next.device == device(UInt8(index)) { ends[index] += next.count }
        }
        return ends
    }

    @Test(arguments: [
        ([500, 10, 1], 100, [100, 0, 0]), ([50, 40, 1], 30, [20, 10, 0]), ([50, 40, 1], 31, [21, 11, 0]), ([3, 3, 3], 100, [2, 2, 2]),
        ([1, 1], 5, [0, 0]), ([], 5, []),
    ])
    func `the devices with the most are lowered to one level, and each keeps a push`(counts: [Int], room: Int, expected: [Int]) {
        #expect(ends(counts, room: room) == expected)
    }

    @Test func `a search that found little is not repeated at once, and one that found enough is`() {
        var crowded = CrowdedDevices()
        #expect(crowded.mustSearch(at: start))
        crowded.found([(device(1), 1)], room: 10, at: start)
        #expect(!crowded.mustSearch(at: start.advanced(by: .seconds(9))))
        #expect(crowded.mustSearch(at: start.advanced(by: .seconds(10))))
        #expect(crowded.mustSearch(at: start.advanced(by: .seconds(-1))))
        crowded.found([(device(1), 100)], room: 10, at: start)
        #expect(!crowded.mustSearch(at: start))
        #expect(crowded.next()?.count == 10)
        #expect(crowded.mustSearch(at: start))
        crowded.foundNone(at: start)
        #expect(!crowded.mustSearch(at: start))
        // Devices that were found a while ago may have few by now.
        crowded.found([(device(1), 100)], room: 10, at: start)
        #expect(crowded.mustSearch(at: start.advanced(by: .seconds(10))))
    }
}
