import { z } from 'zod'

const count = z.int().min(0)

/** Schema of `UsageView`. */
export const UsageSchema = z.object({
  unit: z.string(),
  quantity: count.meta({ description: 'Units that were paid for, or that the maximum covers.' }),
  price_microdollars: count.meta({ description: 'Price of `per` units.' }),
  per: count,
})

/** Members that only a metered price has. */
export const meteredField = {
  metered: UsageSchema.optional().meta({
    description: 'Price by usage: the price is the maximum, which is reserved and covers this.',
  }),
}
