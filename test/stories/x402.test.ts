import { useHub } from '../support/suite.ts'
import { flawed } from './failing-services.ts'
import { paying } from './payments.ts'
import { tell } from './table.ts'

describe('story: x402 for one request', () => {
  const hub = useHub({ plugins: [flawed] })

  it('pays a request with a key without credits, or without a key', () =>
    tell(
      hub(),
      `
      ada  joins     with 1.000000
      ada  pays      echo/say    => x402  ada 0.000000  ada.usdc 0.999900  example 0.000090
      eve  stays     outside with 1.000000
      eve  calls     echo/say    => 402 payment_required  eve.usdc 1.000000
      eve  pays      echo/say    => x402  eve.usdc 0.999900  example 0.000180  commission 0.000020
      eve  pays  analysis/sentiment  => x402  eve.usdc 0.997900  platform 0.002000  cash 0.002200
      hub  resolves  payments    => treasury 0.002200  transit 0.000000
      `,
      paying(),
    ))

  it('pays with free calls and credits first', () =>
    tell(
      hub(),
      `
      ada  joins  with 1.000000
      ada  pays   analysis/sentiment ×15  => free ×15  ada.usdc 1.000000
      ada  has    0.002000
      ada  pays   analysis/sentiment      => credits  ada 0.000000  ada.usdc 1.000000
      ada  pays   analysis/sentiment      => x402  ada.usdc 0.998000
      `,
      paying(),
    ))

  it('moves nothing for a failed call, whose payment may be used again', () =>
    tell(
      hub(),
      `
      eve  stays  outside with 1.000000
      eve  pays   flawed/throws  => 502 plugin_failed  eve.usdc 1.000000  example 0.000000
      eve  pays   flawed/greedy  => 502 plugin_contract  eve.usdc 1.000000
      eve  pays   flawed/cycle   => 502 plugin_contract  eve.usdc 1.000000
      eve  pays   flawed/cheap   => x402  eve.usdc 0.999000  example 0.000900
      eve  pays   flawed/computed {"cost":250} max 0.000500  => x402  eve.usdc 0.998750
      eve  signs  for echo/say
      eve  sends  eve for flawed/works    => 402 payment_invalid
      eve  sends  eve for echo/say        => 200 x402  eve.usdc 0.998650
      eve  sends  eve for echo/say        => 200 x402  eve.usdc 0.998650
      eve  sends  eve for echo/say other  => 402 payment_replayed  eve.usdc 0.998650
      `,
      paying(),
    ))

  it('serves one of many concurrent uses of a payment', () =>
    tell(
      hub(),
      `
      eve  stays  outside with 1.000000
      eve  signs  for echo/say
      eve  sends  eve for echo/say ∥8  => 200 x402  409 payment_in_progress ×7  eve.usdc 0.999900
      `,
      paying(),
    ))

  it('refuses an empty wallet and a wrong signature before the work', () =>
    tell(
      hub(),
      `
      eve  stays   outside with 0.000050
      eve  pays    echo/say             => 402 payment_invalid  eve.usdc 0.000050  example 0.000000
      bob  stays   outside with 1.000000
      bob  signs   for echo/say
      bob  spoils  his payment
      bob  sends   bob for echo/say     => 402 payment_invalid  bob.usdc 1.000000
      bob  floods  bob for echo/say ∥20 => 402 ×20  bob.usdc 1.000000
      `,
      paying(),
    ))
})
