import ArgumentParser
import Bytes
import Foundation
import StatusCrypto

/// Feeds untrusted input to the parts that read it, and checks their properties (`Scripts/fuzz`).
struct PushFuzz: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushfuzz", abstract: "Feed arbitrary input to every reader of untrusted bytes, and check its properties.")

    @Argument(help: "The targets. Default: all.")
    var names: [String] = []

    @Option(help: "Duration of each target in seconds.")
    var seconds = 5

    @Option(help: "Seed of the random inputs; equal seeds make equal inputs. Random by default.")
    var number = UInt64.random(in: .min ... .max)

    @Flag(help: "Print the names of the targets.")
    var list = false

    @Option(help: "Folder for the seeds of the targets, one file each. No target runs.")
    var writeSeeds: String?

    @Option(help: "File with a single input to run, such as that of a failure.")
    var input: String?

    func validate() throws {
        for name in names where !FuzzTarget.all.contains(where: { $0.name == name }) {
            throw ValidationError("unknown target \(name); --list prints the names of the targets")
        }
    }

    func run() throws {
        let targets = FuzzTarget.all.filter { names.isEmpty || names.contains($0.name) }
        if list {
            for target in targets { print(target.name) }
        } else if let writeSeeds {
            for target in targets { try write(target, to: URL(filePath: writeSeeds)) }
        } else if let input {
            for target in targets { try target.check([UInt8](Data(contentsOf: URL(filePath: input)))) }
        } else {
            for target in targets { try search(target) }
        }
    }

    private func write(_ target: FuzzTarget, to folder: URL) throws {
        let folder = folder.appending(path: target.name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (index, seed) in try Seeds.all(of: target).enumerated() {
            try Data(seed).write(to: folder.appending(path: "seed-\(index)"))
        }
    }

    /// Tries the seeds, and then random changes of them.
    private func search(_ target: FuzzTarget) throws {
        let seeds = try Seeds.all(of: target)
        var mutator = Mutator(seeds: seeds, number: number)
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: .seconds(seconds))
        var count = 0
        while count < seeds.count || clock.now < end {
            let input = count < seeds.count ? seeds[count] : mutator.next()
            count += 1
            do throws(Violation) {
                try target.check(input)
            } catch {
                let file = "fuzz-\(target.name)-\(Hex.encode(Array(Keccak.keccak256(input).bytes.prefix(4))))"
                try Data(input).write(to: URL(filePath: file))
                print("\(target.name): violated: \(error.property). The input is in \(file)")
                throw ExitCode.failure
            }
        }
        print("\(target.name): \(count) inputs, \(count / max(seconds, 1)) a second")
    }
}
