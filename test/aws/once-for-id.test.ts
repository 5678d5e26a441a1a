import { beforeAll, describe, expect, test } from '@jest/globals'
import { onceForId } from '#shared/platform/aws/once-for-id.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { createTable } from '#test/support/tables.ts'

let onceInTime: ReturnType<typeof onceForId>
beforeAll(async () => {
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: process.env.DYNAMODB_ENDPOINT,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  })
  onceInTime = onceForId('tests', await createTable(testClient()))
})

/** Repeats a call that a busy machine did not answer in time, as the queue does. */
const once: typeof onceInTime = async (id, effect) => {
  for (;;) {
    try {
      return await onceInTime(id, effect)
    } catch (thrown) {
      if (!isLate(thrown)) throw thrown
    }
  }
}
const isLate = (thrown: unknown): boolean =>
  thrown instanceof Error && (thrown.name === 'TimeoutError' || isLate(thrown.cause))

describe('an effect for an id', () => {
  test('is executed once for repeated calls', async () => {
    let made = 0
    for (let n = 0; n < 3; n += 1) {
      await once('repeated', async () => {
        made += 1
      })
    }
    expect(made).toBe(1)
  })

  test('is executed once for each id', async () => {
    const made: string[] = []
    for (const id of ['a', 'b']) {
      await once(id, async () => {
        made.push(id)
      })
    }
    expect(made).toEqual(['a', 'b'])
  })

  test('is rejected while another call executes it', async () => {
    let finish = () => {}
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    let begun = () => {}
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    const first = once('held', async () => {
      begun()
      await held
    })
    await isBegun
    await expect(once('held', async () => {})).rejects.toThrow()
    finish()
    await first
  })

  test('is executed again after a failure', async () => {
    const fails = once('failing', () => Promise.reject(new Error('down')))
    await expect(fails).rejects.toThrow()
    let made = 0
    await once('failing', async () => {
      made += 1
    })
    expect(made).toBe(1)
  })
})
