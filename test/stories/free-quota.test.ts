import { useHub } from '../support/suite.ts'
import { gift } from './failing-services.ts'
import { tell } from './table.ts'

describe('story: free quota', () => {
  const hub = useHub({ plugins: [gift] })

  it('makes fifteen calls a month free and charges the sixteenth, over all endpoints', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    0.005000
      ada  calls  analysis/sentiment ×14                       => free ×14  ada 0.005000
      ada  calls  analysis/extract-entities {"text":"Oslo"}    => free  platform 0.000000
      ada  calls  analysis/extract-entities {"text":"Oslo"}    => credits  ada 0.002000
      ada  calls  analysis/sentiment                           => credits  platform 0.005000
      ada  calls  analysis/sentiment                           => 402 insufficient_credits
      `,
    ))

  it('returns a free call when the handler fails', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  calls  gift/try {"fail":true} ×3  => 502 plugin_failed ×3  holds 0.000000
      ada  calls  gift/try ×2                => free ×2  ada 0.000000  example 0.000000
      ada  calls  gift/try {"fail":true}     => 402 insufficient_credits
      ada  has    0.001000
      ada  calls  gift/try {"fail":true}     => 502 plugin_failed  ada 0.001000
      ada  calls  gift/try                   => credits  ada 0.000000  example 0.000900
      `,
    ))

  it('counts free calls per wallet and credits per key', () =>
    tell(
      hub(),
      `
      ada   joins
      twin  joins   as ada
      ada   has     0.001000
      ada   calls   gift/try       => free
      twin  calls   gift/try       => free
      twin  calls   gift/try       => 402 insufficient_credits  twin 0.000000
      ada   calls   gift/try       => credits  ada 0.000000
      bob   joins
      bob   calls   gift/try ×2    => free ×2
      `,
    ))

  it('uses two free calls for twenty concurrent calls over two keys', () =>
    tell(
      hub(),
      `
      ada   joins
      twin  joins   as ada
      ada   calls   gift/try ∥10   => free ×2  402 insufficient_credits ×8
      twin  calls   gift/try ∥10   => 402 insufficient_credits ×10
      `,
    ))
})
