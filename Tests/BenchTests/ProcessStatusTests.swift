import Bench
import TestSupport
import Testing

@Suite(.safetyNet) struct ProcessStatusTests {
    @Test(arguments: ["postgres", "postgres: a b", "a) b (c)"])
    func `the processor times are read behind any name`(name: String) throws {
        let text = "42 (\(name)) S 7 42 42 0 -1 4194560 100 200 1 2 11 22 33 44 20 0 1 0 123456 1000 200\n"
        let status = try #require(ProcessStatus(text))
        #expect(status.parent == 7)
        #expect(status.ownTicks == 33)
        #expect(status.exitedChildrenTicks == 77)
    }

    @Test(arguments: ["", "42 (postgres) S 7", "no process", "42 (postgres) S 7 42 42 0 -1 4194560 100 200 1 2 11 x 33 44 20"])
    func `another text has no processor times`(text: String) {
        #expect(ProcessStatus(text) == nil)
    }
}
