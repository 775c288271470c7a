import { useHub } from '../support/suite.ts'
import { dollar, flawed, gift } from './failing-services.ts'
import { tell } from './table.ts'

describe('story: charge', () => {
  const hub = useHub({ plugins: [flawed, gift, dollar] })

  it('splits credits: nine tenths to the provider, one to the platform', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    5.000000        => ada 5.000000
      ada  calls  echo/say        => credits  ada 4.999900  example 0.000090  commission 0.000010
      ada  calls  echo/say ×9     => credits ×9  ada 4.999000  example 0.000900  commission 0.000100
      bob  joins
      bob  calls  echo/say        => 402 insufficient_credits  bob 0.000000  example 0.000900
      bob  has    0.000099
      bob  calls  echo/say        => 402 insufficient_credits  bob 0.000099  holds 0.000000
      bob  has    0.000001
      bob  calls  echo/say        => credits  bob 0.000000  example 0.000990  commission 0.000110
      `,
    ))

  it('charges the platform no commission on its own services', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    0.004000
      ada  calls  analysis/sentiment ×15   => free ×15  ada 0.004000  platform 0.000000
      ada  calls  analysis/sentiment ×2    => credits ×2  ada 0.000000  platform 0.004000
      ada  calls  analysis/sentiment       => 402 insufficient_credits  commission 0.000000
      `,
    ))

  it('a handler may lower its charge, and cannot raise it', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    1.000000
      ada  calls  flawed/works    => credits  ada 0.999000  example 0.000900  commission 0.000100
      ada  calls  flawed/cheap    => credits  ada 0.998600  example 0.001260  commission 0.000140
      ada  calls  flawed/greedy   => 502 plugin_contract  ada 0.998600  example 0.001260
      ada  calls  flawed/parks    => 502 plugin_failed  ada 0.998600  holds 0.000000
      ada  calls  flawed/open     => 502 plugin_contract  ada 0.998600  holds 0.000000
      ada  calls  flawed/took     => 502 plugin_contract  ada 0.998600  example 0.001260
      ada  calls  flawed/sly      => 502 plugin_contract  ada 0.998600  example 0.001260
      `,
    ))

  it('a computed price is charged as computed, within its maximum and the caller’s', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    1.000000
      ada  calls  flawed/computed {"cost":250}               => credits  ada 0.999750
      ada  calls  flawed/computed {"cost":250} max 0.000249  => 402 price_exceeds_max
      ada  calls  flawed/computed {"cost":250} max 0.000250  => credits  ada 0.999500
      ada  calls  flawed/computed {"cost":1}                 => 422 validation_failed
      ada  calls  flawed/dear-quote                          => 502 plugin_contract
      ada  calls  flawed/void-quote                          => 502 plugin_contract
      ada  calls  flawed/no-quote                            => 502 plugin_failed
      ada  calls  echo/say max 0.000099                      => 402 price_exceeds_max
      ada  calls  echo/say max 0.000100                      => credits  ada 0.999400
      `,
    ))

  it('two calls at once on credits for one: one is served', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    1.000000
      ada  calls  dollar/spend ∥2  => credits  402 insufficient_credits
                                   => ada 0.000000  example 0.900000  holds 0.000000
      `,
    ))

  it('fifty calls at once on credits for ten: ten are served', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    10.000000
      ada  calls  dollar/spend ∥50 => credits ×10  402 insufficient_credits ×40
                                   => ada 0.000000  example 9.000000  holds 0.000000
      bob  joins
      bob  calls  gift/try ∥20     => free ×2  402 insufficient_credits ×18  bob 0.000000
      `,
    ))
})
