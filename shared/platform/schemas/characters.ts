import * as v from 'valibot'
import type { ErrorCode } from '../errors/catalogue.ts'

/** How many characters a text has: Unicode code points, as JSON Schema counts them. */
export function charactersOf(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/**
 * A text of so many characters, counted after what stands before it in its pipe.
 * @param tooLong the code of a text that is too long; VALIDATION.field.length otherwise
 */
export function characters(min: number, max: number, tooLong?: ErrorCode): v.GenericValidation<string> {
  return {
    kind: 'validation',
    type: 'characters',
    reference: characters,
    async: false,
    expects: `${min} to ${max}`,
    requirement: { min, max },
    message: ({ input }: v.BaseIssue<unknown>) =>
      tooLong !== undefined && charactersOf(String(input)) > max ? tooLong : '',
    '~run'(dataset, config) {
      if (dataset.typed) {
        const actual = charactersOf(dataset.value)
        if (actual < min || actual > max) v._addIssue(this, 'length', dataset, config)
      }
      return dataset as v.OutputDataset<string, v.BaseIssue<unknown>>
    },
  } as v.GenericValidation<string>
}
