'use strict'
const { reporters } = require('mocha')

/** The usual listing, closed by one plain line that any CI can read: `N passed, N failed`. */
module.exports = class extends reporters.Spec {
  epilogue() {
    super.epilogue()
    const { passes, failures, pending } = this.stats
    const skipped = pending > 0 ? `, ${pending} skipped` : ''
    process.stdout.write(`${passes} passed, ${failures} failed${skipped}\n`)
  }
}
