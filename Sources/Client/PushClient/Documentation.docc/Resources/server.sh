swift build
.build/debug/pushserver serve
