import { type Bounds, beside as besideId, largestId, smallestId } from './ids.ts'

/**
 * Places in the order of a SortIndex: the value, # and the id. As every character of a value lies above #, places sort
 * by value and then by id. The key of an entry is its place, or the value alone, which sorts right before all places
 * of that value; so an item keeps its place while its entry changes between the two keys.
 */

/** The value in a place or in the key of an entry. */
export function valueIn(key: string): string {
  const [value = ''] = key.split('#')
  return value
}

export function placeOf(key: string, id: string): string {
  return `${valueIn(key)}#${id}`
}

/** The place beside this one, whether an item has it or not. */
export function beside(place: string, steps: 1 | -1): string {
  const value = valueIn(place)
  return `${value}#${besideId(place.slice(value.length + 1), steps)}`
}

/** The places of one value. */
export function placesOf(value: string): Bounds {
  return { low: `${value}#${smallestId}`, high: `${value}#${largestId}` }
}

/** From the smallest value there can be to beyond the largest. */
export const allPlaces: Bounds = { low: placesOf('$').low, high: placesOf('\u007f').high }
