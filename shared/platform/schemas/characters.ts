import * as v from 'valibot'
import type { ErrorCode } from '../errors/catalogue.ts'

/** Counts the characters of a text: Unicode code points, as in JSON Schema. */
export function charactersOf(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/**
 * Validates the number of characters of a text, after the preceding actions of its pipe.
 * @param tooLong the error code of a text that is too long; otherwise VALIDATION.field.length
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
