// swift-tools-version: 6.2
import PackageDescription

// One set of rules for every target of ours.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335: `any` where a box is paid for
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444: a member needs its module imported in that file
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409: an import leaks only where it says so
    .enableExperimentalFeature("Lifetimes"),  // readers that borrow their bytes (`~Escapable`)
    .strictMemorySafety(),  // SE-0458: each unsafe use is marked
    .treatAllWarnings(as: .error),  // SE-0443
]

// An app that asks for `traits: []` resolves swift-log alone: SwiftPM leaves out a package if each of its uses has a trait that is off.
func server(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Server"]))
}

let argumentParser = server("ArgumentParser", "swift-argument-parser")
let deque = server("DequeModule", "swift-collections")
let heap = server("HeapModule", "swift-collections")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["FileState"]))
let hummingbird = server("Hummingbird", "hummingbird")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics = server("CoreMetrics", "swift-metrics")
let mustache = server("Mustache", "swift-mustache")
let serviceLifecycle = server("ServiceLifecycle", "swift-service-lifecycle")
let sqlite = server("GRDBSQLite", "GRDB.swift")
let subprocess = server("Subprocess", "swift-subprocess")
let systemPackage = server("SystemPackage", "swift-system")
let unixSignals = server("UnixSignals", "swift-service-lifecycle")
let yams = server("Yams", "Yams")

func library(_ name: String, in folder: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "\(folder)/\(name)", swiftSettings: settings)
}

func executable(_ name: String, in folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies + [argumentParser], path: "\(folder)/\(name)", swiftSettings: settings)
}

/// A system library: a module map and a shim header.
func system(_ name: String, _ pkgConfig: String, apt package: String) -> Target {
    .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

func example(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Examples/Sources/\(name)", packageAccess: false, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: dependencies + ["TestSupport"], exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "pushserver",
    // Where InlineArray and integers as generic parameters exist. Apple's systems have never been tried (docs/PORTING.md).
    platforms: [.iOS(.v26), .macOS(.v26)],
    products: [
        .library(name: "PushClient", targets: ["PushClient"]),
        .library(name: "PushClientREST", targets: ["PushClientREST"]),
        .library(name: "PushClientFileState", targets: ["PushClientFileState"]),
        .library(name: "PushPayload", targets: ["PushPayload"]),
        .library(name: "PushClientTesting", targets: ["PushClientTesting"]),
        .executable(name: "pushserver", targets: ["pushserver"]),
        .executable(name: "pushctl", targets: ["pushctl"]),
        .executable(name: "pushbench", targets: ["pushbench"]),
    ],
    traits: [
        .trait(name: "FileState", description: "The packages of PushClientFileState, a state that an app and its extension share."),
        .trait(name: "Server", description: "The packages of the server and its tools.", enabledTraits: ["FileState"]),
        .default(enabledTraits: ["Server"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
        .package(url: "https://github.com/apple/swift-collections", .upToNextMinor(from: "1.6.0")),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/apple/swift-system", .upToNextMinor(from: "1.8.1")),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", .upToNextMinor(from: "2.28.1"), traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", .upToNextMinor(from: "2.1.1")),
        .package(url: "https://github.com/jpsim/Yams", .upToNextMinor(from: "6.2.2")),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/swiftlang/swift-subprocess", .upToNextMinor(from: "1.0.2"), traits: []),
    ],
    targets: [
        // One folder of Sources/ a floor, from the top down. A target depends on its own floor and lower ones (Scripts/check floors).

        // Programs: thin executables: they parse arguments and call a library.
        executable("pushserver", in: "Sources/Programs", ["Daemon", "Settings", "Observation", "ServerFiles"]),
        executable(
            "pushctl", in: "Sources/Programs",
            [
                "Operator", "Settings", "Observation", "ServerFiles", "Conformance", "PushClientFileState", "PushClientREST",
                "PushClient", "PushProtocol", "Envelope", "Wire", "ServerCrypto", "StatusCrypto", "HTTPClient", "JSON",
                "Bytes", unixSignals,
            ]),

        // Operation: the running server, and what its operator does.
        library(
            "Daemon", in: "Sources/Operation",
            [
                "Settings", "Observation", "ServerFiles", "PushClient", "HTTPGateways", "Engine", "Delivery", "PostgreSQLStore",
                "SQLiteStore", "Store", "Transport", "WakuREST", "PushProtocol", "Envelope", "Wire", "ServerCrypto", "StatusCrypto",
                "HTTPServing", "HTTPClient", "MetricDeclarations", "Tasks", "Platform", "Bytes", hummingbird, logging, metrics,
                serviceLifecycle,
            ]),
        library(
            "Operator", in: "Sources/Operation",
            [
                "Settings", "Observation", "ServerFiles", "Conformance", "PushClientREST", "PushClient", "Delivery", "PostgreSQLStore",
                "SQLiteStore", "Store", "Transport", "WakuREST", "PushProtocol", "Envelope", "Wire", "ServerCrypto", "StatusCrypto",
                "HTTPClient", "JSON", "Platform", "Bytes", grdb, logging, sqlite,
            ]),
        library(
            "Settings", in: "Sources/Operation",
            [
                "Observation", "ServerFiles", "PushClient", "HTTPGateways", "Delivery", "PostgreSQLStore", "Store", "Transport", "WakuREST",
                "PushProtocol", "ServerCrypto", "StatusCrypto", "HTTPClient", "JSON", "Platform", "Bytes", logging, yams,
            ]),
        library(
            "Observation", in: "Sources/Operation",
            [
                "ServerFiles", "Engine", "Delivery", "Store", "Transport", "Envelope", "StatusCrypto", "MetricDeclarations", "Tasks",
                "Platform", "Bytes", "CBuildInfo", logging, metrics, mustache, serviceLifecycle,
            ]),
        library(
            "ServerFiles", in: "Sources/Operation",
            [
                "PostgreSQLStore", "SQLiteStore", "Store", "Transport", "Envelope", "ServerCrypto", "StatusCrypto", "Bytes", "Platform",
                logging, subprocess, systemPackage,
            ]),

        // Kit: the rules of 71 against any server, from outside.
        library(
            "Conformance", in: "Sources/Kit",
            [
                "WakuREST", "Envelope", "Wire", "StatusCrypto", "HTTPServing", "HTTPClient", "JSON", "Tasks", "Bytes", hummingbird,
                logging, serviceLifecycle,
            ]),

        // Client: what apps link, and the only public API.
        library("PushClientFileState", in: "Sources/Client", ["PushClient", "Platform", grdb]),
        library(
            "PushClientREST", in: "Sources/Client",
            ["PushClient", "WakuREST", "Envelope", "Wire", "StatusCrypto", "HTTPClient", "Bytes", logging]),
        library(
            "PushClient", in: "Sources/Client",
            ["Envelope", "Wire", "StatusCrypto", "Tasks", "Bytes", "Platform", logging]),
        library(
            "PushClientTesting", in: "Sources/Client",
            ["PushClient", "PushProtocol", "Envelope", "Wire", "StatusCrypto", "Tasks", "Bytes"]),
        library("PushPayload", in: "Sources/Client"),

        // Gateways: other push systems over HTTP; each hands its notifications to the outbox.
        library(
            "HTTPGateways", in: "Sources/Gateways",
            [
                "Delivery", "Store", "PushProtocol", "Envelope", "ServerCrypto", "StatusCrypto", "HTTPServing", "HTTPClient",
                "MetricDeclarations", "JSON", "Workers", "Tasks", "Bytes", hummingbird, logging, metrics, serviceLifecycle,
            ]),

        // Server: messages in, pushes out.
        library(
            "Engine", in: "Sources/Server",
            [
                "Store", "Transport", "PushProtocol", "Envelope", "Wire", "StatusCrypto", "MetricDeclarations", "Workers", "Tasks", "Bytes",
                deque, logging, metrics, serviceLifecycle,
            ]),
        library(
            "Delivery", in: "Sources/Server",
            [
                "Store", "PushProtocol", "Envelope", "Wire", "StatusCrypto", "HTTPClient", "MetricDeclarations", "JSON", "Tasks",
                "Bytes", deque, heap, logging, metrics, serviceLifecycle,
            ]),

        // Stores: what must survive.
        library(
            "PostgreSQLStore", in: "Sources/Stores",
            [
                "Store", "PushProtocol", "Envelope", "Wire", "ServerCrypto", "StatusCrypto", "Tasks", "Bytes", "Platform", "CLibPQ", deque,
                logging,
            ]),
        library(
            "SQLiteStore", in: "Sources/Stores",
            ["Store", "PushProtocol", "Envelope", "Wire", "ServerCrypto", "StatusCrypto", "Platform", "Bytes", grdb, logging, sqlite]),
        library(
            "Store", in: "Sources/Stores",
            [
                "PushProtocol", "Envelope", "Wire", "ServerCrypto", "StatusCrypto", "JSON", "MetricDeclarations", "Platform", "Bytes",
                heap, logging, metrics,
            ]),

        // Network: Waku nodes, from both sides.
        library(
            "Transport", in: "Sources/Network",
            [
                "WakuREST", "Envelope", "Wire", "StatusCrypto", "HTTPServing", "MetricDeclarations", "JSON", "Tasks", "Platform", "Bytes",
                hummingbird, deque, logging, metrics, serviceLifecycle,
            ]),
        library("WakuREST", in: "Sources/Network", ["Envelope", "Wire", "StatusCrypto", "HTTPClient", "JSON", "Bytes"]),

        // Protocol: from bytes to rules.
        library("PushProtocol", in: "Sources/Protocol", ["Envelope", "Wire", "StatusCrypto", "Bytes", "Platform"]),
        library("Envelope", in: "Sources/Protocol", ["Wire", "StatusCrypto", "Bytes", "Platform"]),
        library("Wire", in: "Sources/Protocol", ["StatusCrypto", "Bytes"]),
        library("ServerCrypto", in: "Sources/Protocol", ["StatusCrypto", "Bytes", "CryptoLibrary", "CLibCrypto"]),
        library("StatusCrypto", in: "Sources/Protocol", ["Bytes", "CryptoLibrary", "CSecp256k1"]),

        // System: what every floor may use.
        library("HTTPServing", in: "Sources/System", [hummingbird, logging, serviceLifecycle]),
        library("HTTPClient", in: "Sources/System", ["Platform", "Tasks", "Bytes", "CLibCurl"]),
        library("MetricDeclarations", in: "Sources/System", [metrics]),
        library("JSON", in: "Sources/System", ["Bytes"]),
        library("Workers", in: "Sources/System", ["Tasks", "Platform", deque]),
        library("Tasks", in: "Sources/System"),
        library("Bytes", in: "Sources/System", ["CryptoLibrary"]),
        library("CryptoLibrary", in: "Sources/System", ["CLibCrypto"]),
        library("Platform", in: "Sources/System"),
        system("CSecp256k1", "libsecp256k1", apt: "libsecp256k1-dev"),
        system("CLibCrypto", "libcrypto", apt: "libssl-dev"),
        system("CLibCurl", "libcurl", apt: "libcurl4-openssl-dev"),
        system("CLibPQ", "libpq", apt: "libpq-dev"),
        // Version and commit of the programs; Packaging/release gives the latter in the environment.
        .target(
            name: "CBuildInfo", path: "Sources/System/CBuildInfo",
            cSettings: [.treatAllWarnings(as: .error)]
                + ["BUILD_COMMIT", "BUILD_SWIFT"].compactMap { name in
                    Context.environment[name].map { .define(name, to: "\"\($0)\"") }
                }),

        executable("pushbench", in: "Benchmarks", ["Bench", "Observation"]),

        // The benchmarks (Benchmarks/BENCHMARKS.md) of every layer, with the bare C libraries for comparison.
        library(
            "Bench", in: "Benchmarks",
            [
                "Engine", "Delivery", "Transport", "SQLiteStore", "PostgreSQLStore", "Store", "HTTPClient", "PushProtocol", "Envelope",
                "ServerCrypto", "StatusCrypto", "JSON", "Bytes", "Wire", "HTTPGateways", "WakuREST", "TestServers", "TestSupport",
                "CSecp256k1", "CLibCrypto", logging,
            ]),

        // Clock, waiting, processes, vectors, keys: shared by all tests.
        library(
            "TestSupport", in: "Tests/Support",
            ["CFaultyVFS", "Store", "Envelope", "Wire", "ServerCrypto", "StatusCrypto", "Tasks", "Bytes", logging, metrics]),
        // Nodes, the stub of gorush and clients of gateways: for tests over HTTP, and the demo.
        library(
            "TestServers", in: "Tests/Support",
            [
                "TestSupport", "HTTPGateways", "Transport", "Store", "WakuREST", "Envelope", "Wire", "HTTPServing", "HTTPClient", "JSON",
                "Tasks", "Bytes", hummingbird, logging, serviceLifecycle,
            ]),
        executable(
            "misbehavingrelay", in: "Tests/Support",
            ["TestServers", "TestSupport", "Transport", "Envelope", logging, serviceLifecycle, unixSignals]),
        executable("stubgorush", in: "Tests/Support", ["TestServers", "TestSupport", logging, serviceLifecycle, unixSignals]),
        // A disk that fails on purpose, under SQLite.
        .target(
            name: "CFaultyVFS", dependencies: [sqlite], path: "Tests/Support/CFaultyVFS", cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("sqlite3")]),

        // The fuzzer of all parsers of untrusted input (Scripts/fuzz).
        .executableTarget(
            name: "pushfuzz",
            dependencies: [
                "CAllocationMeter", "PushPayload", "Operator", "Observation", "Settings", "Delivery", "Engine", "Transport", "HTTPGateways",
                "Store", "Bytes", "StatusCrypto", "SQLiteStore", "PushProtocol", "HTTPClient", "WakuREST", "JSON", "Envelope", "Wire",
                "TestSupport", argumentParser, logging, grdb, sqlite,
            ],
            path: "Tests/Fuzz", exclude: ["CAllocationMeter", "Regressions"],
            swiftSettings: settings + [.enableExperimentalFeature("Extern")]),
        .target(name: "CAllocationMeter", path: "Tests/Fuzz/CAllocationMeter", cSettings: [.treatAllWarnings(as: .error)]),

        // The package in Examples, built like an app: it sees only public symbols.
        example("Quickstart", ["PushClient", "PushClientREST"]),
        example("Messenger", ["PushClient"]),
        example("Tutorial", ["PushClient", "PushClientREST"]),
        // The code that PushClient's documentation shows (Scripts/check snippets).
        .target(
            name: "Snippets",
            dependencies: ["PushClient", "PushClientREST", "PushPayload", "PushClientTesting"],
            path: "Examples/Sources/Snippets", packageAccess: false, swiftSettings: settings),

        tests("Tasks", ["Tasks", "Workers"]),
        tests("JSON", ["JSON", "Bytes"]),
        tests("GatewayHTTP", ["TestServers", "HTTPGateways", "HTTPClient"]),
        tests(
            "NextcloudProxy",
            [
                "TestServers", "HTTPGateways", "Store", "Bytes", "ServerCrypto", "StatusCrypto", "JSON", "HTTPClient", "Envelope", logging,
                serviceLifecycle,
            ]),
        tests(
            "NextcloudOrigin",
            [
                "TestServers", "HTTPGateways", "Store", "Bytes", "ServerCrypto", "StatusCrypto", "HTTPClient", "SQLiteStore", "Envelope",
                logging, serviceLifecycle,
            ]),
        tests(
            "Redaction",
            [
                "Settings", "Delivery", "Engine", "SQLiteStore", "HTTPGateways", "Store", "PushClient", "WakuREST", "PushProtocol",
                "HTTPClient", "Bytes", "StatusCrypto", "Envelope", "Wire", logging,
            ]),
        tests(
            "SoftphonePNM",
            ["TestServers", "HTTPGateways", "Delivery", "Store", "HTTPClient", "Envelope", "Bytes", logging, serviceLifecycle]),
        tests("Wire", ["Wire", "Bytes", "StatusCrypto"], exclude: ["Differential"]),
        tests("StatusCrypto", ["ServerCrypto", "StatusCrypto", "Bytes"]),
        tests("ServerFiles", ["ServerFiles", "SQLiteStore", "Store", "Envelope", "StatusCrypto", "Platform", "Bytes", grdb, logging]),
        tests("Envelope", ["Envelope", "Bytes", "StatusCrypto", "Wire"]),
        tests("PushProtocol", ["PushProtocol", "Bytes", "StatusCrypto", "Wire"]),
        tests("HTTPClient", ["TestServers", "HTTPClient"]),
        tests(
            "Store",
            [
                "SQLiteStore", "PostgreSQLStore", "Store", "Bytes", "ServerCrypto", "StatusCrypto", "PushProtocol", "Envelope", "Wire",
                grdb, sqlite, logging,
            ]),
        tests("WakuREST", ["TestServers", "WakuREST", "JSON", "Transport", "HTTPClient", "Envelope", "Bytes", "StatusCrypto", "Wire"]),
        tests(
            "Transport",
            [
                "TestServers", "Transport", "WakuREST", "JSON", "HTTPClient", "Envelope", "Bytes", "StatusCrypto", "Wire", logging,
                serviceLifecycle,
            ]),
        tests("Relay", ["TestServers", "Transport", "WakuREST", "HTTPClient", "Envelope", "Bytes", "StatusCrypto", "Wire"]),
        tests(
            "Delivery",
            [
                "TestServers", "Settings", "PushClient", "HTTPGateways", "Delivery", "Tasks", "JSON", "Engine", "Transport", "SQLiteStore",
                "PostgreSQLStore", "Store", "PushProtocol", "HTTPClient", "Envelope", "Bytes", "StatusCrypto", "Wire", grdb, logging,
                serviceLifecycle, yams,
            ]),
        tests(
            "Engine",
            [
                "TestServers", "Engine", "Tasks", "Transport", "WakuREST", "HTTPClient", "SQLiteStore", "PostgreSQLStore", "Store",
                "PushProtocol", "Envelope", "Bytes", "StatusCrypto", "Wire", grdb, logging, serviceLifecycle,
            ]),
        tests("PushPayload", ["PushPayload", "PushClient", "StatusCrypto", "Bytes"]),
        tests(
            "PushClient",
            [
                "TestServers", "PushClient", "PushClientREST", "PushClientFileState", "PushClientTesting", "PushPayload", "Messenger",
                "Tutorial", "pushctl", "pushserver", "Transport", "WakuREST", "HTTPClient", "PostgreSQLStore", "PushProtocol", "Tasks",
                "Envelope", "ServerFiles", "Bytes", "StatusCrypto", "Wire", logging, serviceLifecycle,
            ]),
        tests(
            "Simulation",
            [
                "TestServers", "Delivery", "Engine", "Transport", "WakuREST", "JSON", "Tasks", "SQLiteStore", "PostgreSQLStore", "Store",
                "PushProtocol", "Envelope", "Bytes", "StatusCrypto", "Wire", logging,
            ]),
        tests("Bench", ["Bench"]),
        tests(
            "Operator",
            [
                "TestServers", "Operator", "Observation", "Conformance", "PushClientREST", "PushClient", "Delivery", "Transport",
                "SQLiteStore", "PostgreSQLStore", "Store", "WakuREST", "PushProtocol", "MetricDeclarations", "ServerFiles", "ServerCrypto",
                "Envelope", "Wire", "StatusCrypto", "Bytes", grdb,
            ]),
        tests(
            "Conformance",
            [
                "TestServers", "Conformance", "pushserver", "pushctl", "Transport", "WakuREST", "HTTPClient", "JSON", "Tasks",
                "ServerFiles", "PushProtocol", "Envelope", "Bytes", "StatusCrypto", "Wire", logging,
            ],
            exclude: ["Specification"]),
        tests(
            "Daemon",
            [
                "TestServers", "pushserver", "pushctl", "pushbench", "Quickstart", "misbehavingrelay", "Daemon", "Settings", "Observation",
                "ServerFiles", "PushClientTesting", "WakuREST", "Transport", "HTTPClient", "SQLiteStore", "PostgreSQLStore", "Store",
                "PushProtocol", "MetricDeclarations", "Envelope", "HTTPGateways", "ServerCrypto", "StatusCrypto", "Wire", "Bytes", grdb,
                logging, serviceLifecycle, yams,
            ],
            exclude: ["Golden"]),
    ],
    cLanguageStandard: .c11
)

// `TESTS=Engine,Store swift build --build-tests` builds and links what the tests of these modules need, instead of all tests.
if let names = Context.environment["TESTS"]?.split(separator: ",").map({ "\($0)Tests" }) {
    let known = package.targets.filter { $0.type == .test }.map(\.name)
    for name in names where !known.contains(name) {
        fatalError("TESTS: there are no \(name); there are \(known.sorted().joined(separator: ", "))")
    }
    var needed: Set<String> = []
    var found = names
    while let name = found.popLast() {
        guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { continue }
        for case .byNameItem(let dependency, _) in target.dependencies { found.append(dependency) }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { product in
        let targets = (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets ?? []
        return !needed.isSuperset(of: targets)
    }
}
