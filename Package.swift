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

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

func library(_ name: String, in folder: String = "Sources", _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "\(folder)/\(name)", swiftSettings: settings)
}

func executable(_ name: String, in folder: String = "Sources", _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies + [argumentParser], path: "\(folder)/\(name)", swiftSettings: settings)
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
    products: [
        .library(name: "PushClient", targets: ["PushClient"]),
        .library(name: "PushClientREST", targets: ["PushClientREST"]),
        .library(name: "PushClientFileState", targets: ["PushClientFileState"]),
        .executable(name: "pushserver", targets: ["pushserver"]),
        .executable(name: "pushctl", targets: ["pushctl"]),
        .executable(name: "pushbench", targets: ["pushbench"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
        .package(url: "https://github.com/apple/swift-collections", .upToNextMinor(from: "1.6.0")),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
        .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
        .package(url: "https://github.com/groue/GRDB.swift", .upToNextMinor(from: "7.10.0")),
        .package(url: "https://github.com/hummingbird-project/hummingbird", .upToNextMinor(from: "2.28.1"), traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", .upToNextMinor(from: "2.1.1")),
        .package(url: "https://github.com/jpsim/Yams", .upToNextMinor(from: "6.2.2")),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", .upToNextMinor(from: "2.13.0")),
    ],
    targets: [
        // System libraries: a module map and a shim header each.
        .systemLibrary(name: "CSecp256k1", pkgConfig: "libsecp256k1", providers: [.apt(["libsecp256k1-dev"])]),
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Version and commit of the programs; Scripts/release gives the latter in the environment.
        .target(
            name: "CBuildInfo",
            cSettings: [.treatAllWarnings(as: .error)]
                + ["BUILD_COMMIT", "BUILD_SWIFT"].compactMap { name in
                    Context.environment[name].map { .define(name, to: "\"\($0)\"") }
                }),

        // Shared by all targets.
        library("Concurrency", [deque]),
        library("MetricDeclarations", [metrics]),
        library("JSON"),

        // From bytes to rules, as docs/ARCHITECTURE.md draws them.
        library("Wire", ["StatusCrypto"]),
        library("StatusCrypto", ["CSecp256k1", "CLibCrypto"]),
        library("Age", ["StatusCrypto"]),
        library("Envelope", ["Wire", "StatusCrypto"]),
        library("PushProtocol", ["Wire", "StatusCrypto", "Envelope"]),

        // The dependencies: database, node, gorush.
        library("HTTPClient", ["CLibCurl", "Concurrency", "StatusCrypto"]),
        library("Store", ["PushProtocol", "Envelope", "StatusCrypto", "Wire", "JSON"]),
        library(
            "SQLiteStore",
            [
                "Store", "StatusCrypto", "PushProtocol", "Envelope", "Wire", "MetricDeclarations", grdb, sqlite, logging, metrics,
            ]),
        library("PostgreSQLStore", ["CLibPQ", "Concurrency", "Store", "StatusCrypto", "PushProtocol", "Envelope", "Wire", deque, logging]),
        library("WakuREST", ["HTTPClient", "JSON", "Envelope", "StatusCrypto", "Wire"]),
        library(
            "Transport",
            ["WakuREST", "Concurrency", "MetricDeclarations", "Envelope", "StatusCrypto", "Wire", logging, metrics, serviceLifecycle]),
        // The HTTP listener that all servers of this package share.
        library("HTTPServing", [hummingbird, logging]),
        library(
            "Relay",
            ["HTTPServing", "WakuREST", "JSON", "Transport", "Envelope", "StatusCrypto", "Wire", hummingbird, logging, serviceLifecycle]),

        // The gateways for other push systems. Each knows its own protocol, but not how pushes are delivered.
        library(
            "GatewayHTTP", in: "Sources/Gateways",
            ["HTTPServing", "JSON", "HTTPClient", "StatusCrypto", "Concurrency", hummingbird, logging, serviceLifecycle]),
        library(
            "NextcloudProxy", in: "Sources/Gateways",
            ["GatewayHTTP", "Store", "StatusCrypto", "JSON", "HTTPClient", "Concurrency", "Envelope", logging]),
        library(
            "NextcloudOrigin", in: "Sources/Gateways",
            [
                "GatewayHTTP", "Store", "StatusCrypto", "JSON", "HTTPClient", "Concurrency", "Envelope", "MetricDeclarations", logging,
                metrics, serviceLifecycle,
            ]),
        library("SoftphonePNM", in: "Sources/Gateways", ["GatewayHTTP", "Store", "JSON", "StatusCrypto", logging]),

        // The sources of settings: file, environment and flags. Tools find the files of a server by them.
        library("Settings", ["StatusCrypto", "CBuildInfo", yams]),

        // The state of a server, which `GET /status.json`, the status page and `pushctl top` show.
        library("StatusReport"),
        // Copies of the database, by the server and by tools.
        library("Backup", ["Age", "SQLiteStore", "Store", "Settings", "StatusCrypto", "Envelope", "Concurrency"]),

        // The server.
        library(
            "Engine",
            [
                "Transport", "Store", "PushProtocol", "Envelope", "StatusCrypto", "Wire", "Concurrency", "MetricDeclarations", deque,
                logging, metrics, serviceLifecycle,
            ]),
        library(
            "Delivery",
            [
                "Concurrency", "MetricDeclarations", "JSON", "Store", "PushProtocol", "Envelope", "StatusCrypto", "Wire", "HTTPClient",
                logging, metrics, serviceLifecycle, yams,
            ]),
        library(
            "Daemon",
            [
                "Engine", "Delivery", "GatewayHTTP", "NextcloudProxy", "NextcloudOrigin", "SoftphonePNM", "Store", "StatusCrypto", "JSON",
                "StatusReport", "Relay", "Transport", "WakuREST", "SQLiteStore", "PostgreSQLStore", "HTTPClient", "PushProtocol",
                "PushClient", "Envelope", "Settings", "Wire", "MetricDeclarations", "Age", "Backup", "HTTPServing", hummingbird, logging,
                metrics, mustache, serviceLifecycle, unixSignals, yams,
            ]),

        // The client side: the only public API.
        library("PushClient", ["Concurrency", "Envelope", "StatusCrypto", "Wire"]),
        library("PushClientREST", ["PushClient", "WakuREST", "HTTPClient", "Envelope", "StatusCrypto", "Wire"]),
        library("PushClientFileState", ["PushClient", grdb]),

        // The rules of 71 as scenarios against any server.
        library(
            "Conformance",
            ["HTTPServing", "WakuREST", "HTTPClient", "Concurrency", "Envelope", "StatusCrypto", "Wire", hummingbird, logging]),

        // The operator's commands. `pushctl` parses their arguments and prints their results.
        library(
            "Operator",
            [
                "StatusReport", "PushClient", "PushClientREST", "Conformance", "Settings", "SQLiteStore", "PostgreSQLStore", "Store",
                "HTTPClient", "WakuREST", "Envelope", "PushProtocol", "StatusCrypto", "Wire", "Age", "Backup", grdb, logging,
            ]),

        executable("pushserver", ["Daemon", "Settings"]),
        executable(
            "pushctl",
            [
                "Operator", "Conformance", "Age", "PushClient", "PushClientREST", "PushClientFileState", "Settings", "HTTPClient",
                "Envelope", "PushProtocol", "StatusCrypto", "Wire", unixSignals,
            ]),
        executable("pushbench", in: "Benchmarks", ["Bench", "Settings"]),

        // The benchmarks (docs/BENCHMARKS.md) of every layer, with the bare C libraries for comparison.
        library(
            "Bench", in: "Benchmarks",
            [
                "Engine", "Delivery", "Transport", "SQLiteStore", "PostgreSQLStore", "Store", "HTTPClient", "PushProtocol", "Envelope",
                "StatusCrypto", "Wire", "NextcloudProxy", "NextcloudOrigin", "GatewayHTTP", "WakuREST", "Relay", "TestSupport",
                "CSecp256k1", "CLibCrypto", logging,
            ]),

        // Clock, stub gorush, vectors, keys: shared by all tests and the demo.
        library(
            "TestSupport", in: "Tests/Support",
            [
                "CFaultyVFS", "GatewayHTTP", "StatusCrypto", "JSON", "Relay", "Transport", "WakuREST", "HTTPClient", "Concurrency",
                "Envelope", "Wire", "HTTPServing", hummingbird, logging, serviceLifecycle,
            ]),
        executable(
            "misbehavingrelay", in: "Tests/Support",
            ["TestSupport", "Relay", "Transport", "Envelope", logging, serviceLifecycle, unixSignals]),
        executable("stubgorush", in: "Tests/Support", ["TestSupport", logging, serviceLifecycle, unixSignals]),
        // A disk that fails on purpose, under SQLite.
        .target(
            name: "CFaultyVFS", dependencies: [sqlite], path: "Tests/Support/CFaultyVFS", cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("sqlite3")]),

        // The fuzzer of all parsers of untrusted input (Scripts/fuzz).
        .executableTarget(
            name: "pushfuzz",
            dependencies: [
                "CAllocationMeter", "Daemon", "Delivery", "Engine", "Transport", "Relay", "NextcloudProxy", "GatewayHTTP", "Store",
                "StatusCrypto", "SQLiteStore", "PushProtocol", "HTTPClient", "WakuREST", "JSON", "Envelope", "Wire", "Settings",
                "TestSupport", argumentParser, logging, grdb, sqlite,
            ],
            path: "Tests/Fuzz", exclude: ["CAllocationMeter", "Regressions"],
            swiftSettings: settings + [.enableExperimentalFeature("Extern")]),
        .target(name: "CAllocationMeter", path: "Tests/Fuzz/CAllocationMeter", cSettings: [.treatAllWarnings(as: .error)]),

        // The package in Examples, built like an app: it sees only public symbols.
        example("Quickstart", ["PushClient", "PushClientREST"]),
        example("Messenger", ["PushClient"]),
        example("Tutorial", ["PushClient", "PushClientREST", "PushClientFileState"]),
        // The code that PushClient's documentation shows (Scripts/check-snippets).
        .target(
            name: "Snippets", dependencies: ["PushClient", "PushClientREST", "PushClientFileState"], path: "Examples/Sources/Snippets",
            packageAccess: false, swiftSettings: settings),

        tests("Concurrency", ["Concurrency"]),
        tests("JSON", ["JSON"]),
        tests("GatewayHTTP", ["GatewayHTTP", "HTTPClient"]),
        tests(
            "NextcloudProxy",
            ["NextcloudProxy", "GatewayHTTP", "Store", "StatusCrypto", "JSON", "HTTPClient", "Envelope", logging, serviceLifecycle]),
        tests(
            "NextcloudOrigin",
            [
                "NextcloudOrigin", "NextcloudProxy", "GatewayHTTP", "Store", "StatusCrypto", "HTTPClient", "SQLiteStore", "Envelope",
                logging, serviceLifecycle,
            ]),
        tests(
            "Redaction",
            [
                "Daemon", "Settings", "Delivery", "Engine", "SQLiteStore", "NextcloudProxy", "NextcloudOrigin", "GatewayHTTP", "Store",
                "PushClient", "WakuREST", "PushProtocol", "HTTPClient", "StatusCrypto", "Envelope", "Wire", logging,
            ]),
        tests("SoftphonePNM", ["SoftphonePNM", "GatewayHTTP", "Store", "HTTPClient", "Envelope", logging, serviceLifecycle]),
        tests("Wire", ["Wire", "StatusCrypto"], exclude: ["Differential"]),
        tests("StatusCrypto", ["StatusCrypto"]),
        tests("Age", ["Age", "StatusCrypto"]),
        tests("Backup", ["Backup", "Age", "SQLiteStore", "Store", "StatusCrypto", "Envelope", grdb, logging]),
        tests("Envelope", ["Envelope", "StatusCrypto", "Wire"]),
        tests("PushProtocol", ["PushProtocol", "StatusCrypto", "Wire"]),
        tests("HTTPClient", ["HTTPClient"]),
        tests(
            "Store",
            [
                "SQLiteStore", "PostgreSQLStore", "Store", "StatusCrypto", "PushProtocol", "Envelope", "Wire", grdb, sqlite, logging,
            ]),
        tests("WakuREST", ["WakuREST", "JSON", "Relay", "Envelope", "StatusCrypto", "Wire"]),
        tests(
            "Transport",
            ["Transport", "WakuREST", "JSON", "Relay", "HTTPClient", "Envelope", "StatusCrypto", "Wire", logging, serviceLifecycle]),
        tests("Relay", ["Relay", "WakuREST", "Transport", "HTTPClient", "Envelope", "StatusCrypto", "Wire"]),
        tests(
            "Delivery",
            [
                "Delivery", "Daemon", "SoftphonePNM", "Concurrency", "JSON", "Engine", "Transport", "SQLiteStore", "Store", "PushProtocol",
                "HTTPClient", "Envelope", "StatusCrypto", "Wire", "Settings", grdb, logging, serviceLifecycle, yams,
            ]),
        tests(
            "Engine",
            [
                "Engine", "Transport", "WakuREST", "HTTPClient", "SQLiteStore", "PostgreSQLStore", "Store", "PushProtocol", "Envelope",
                "StatusCrypto", "Wire", grdb, logging, serviceLifecycle,
            ]),
        tests(
            "PushClient",
            [
                "PushClient", "PushClientREST", "PushClientFileState", "Messenger", "Tutorial", "pushctl", "pushserver", "Relay",
                "WakuREST", "Transport", "HTTPClient", "PostgreSQLStore", "PushProtocol", "Concurrency", "Envelope", "Settings",
                "StatusCrypto", "Wire", logging, serviceLifecycle,
            ]),
        tests(
            "Simulation",
            [
                "Delivery", "Engine", "Transport", "WakuREST", "JSON", "Concurrency", "SQLiteStore", "PostgreSQLStore", "Store",
                "PushProtocol", "Envelope", "StatusCrypto", "Wire", logging,
            ]),
        tests("Bench", ["Bench"]),
        tests("Operator", ["Operator", "StatusReport"]),
        tests(
            "Conformance",
            [
                "Conformance", "pushserver", "pushctl", "Relay", "Transport", "WakuREST", "HTTPClient", "JSON", "Concurrency",
                "PushProtocol", "Envelope", "StatusCrypto", "Wire", logging,
            ]),
        tests(
            "Daemon",
            [
                "pushserver", "pushctl", "pushbench", "Quickstart", "misbehavingrelay", "Daemon", "WakuREST", "Transport", "HTTPClient",
                "SQLiteStore", "PostgreSQLStore", "Store", "StatusReport", "MetricDeclarations", "Envelope", "GatewayHTTP", "StatusCrypto",
                "Settings", "Wire", "Backup", grdb, logging, serviceLifecycle, yams,
            ],
            exclude: ["Golden"]),
    ],
    cLanguageStandard: .c11
)
