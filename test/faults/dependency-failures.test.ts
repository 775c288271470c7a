import { DEPENDENCIES } from '../stories/dependencies/fixture.ts'
import { type Cell, testMatrix } from '../stories/dependencies/matrix.ts'
import { FAILURE_MODES } from '../support/fault-proxy.ts'

const CELLS: readonly Cell[] = DEPENDENCIES.flatMap((dependency) =>
  FAILURE_MODES.map((mode): Cell => [[dependency], mode]),
)

describe('each dependency that fails in each way', function () {
  this.timeout(180_000)
  testMatrix(CELLS)
})

describe('AWS KMS that fails in each way', function () {
  this.timeout(180_000)
  testMatrix(
    FAILURE_MODES.map((mode): Cell => [['signer'], mode]),
    'kms',
  )
})
