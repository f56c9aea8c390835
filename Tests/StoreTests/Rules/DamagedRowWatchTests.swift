import Store
import Testing

struct DamagedRowWatchTests {
    @Test func `a few damaged rows are counted, and more than 16 in an hour are a fault`() {
        var watch = DamagedRowWatch()
        watch.observe(0, at: .zero)
        #expect(watch.count == 0 && !watch.isFault)
        watch.observe(16, at: .seconds(10))
        #expect(watch.count == 16 && !watch.isFault)
        watch.observe(17, at: .seconds(3_609))
        #expect(watch.isFault)
    }

    @Test func `damaged rows of an hour ago no longer count as a fault`() {
        var watch = DamagedRowWatch()
        watch.observe(17, at: .seconds(10))
        #expect(watch.isFault)
        watch.observe(17, at: .seconds(3_609))
        #expect(watch.isFault)
        watch.observe(17, at: .seconds(3_610))
        #expect(!watch.isFault && watch.count == 17)
    }
}
