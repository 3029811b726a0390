// Pictures of the page: taken so that the same data gives the same picture, and compared by the browser itself, which
// decodes both.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { palettePng } from './palette-png.ts';

/** How a page is looked at. */
export interface Look {
  readonly colorScheme: 'light' | 'dark';
  /** In pixels. */
  readonly width: number;
}

/** A browser without anything that changes by itself: motion, language and time zone of the machine. */
export function stillContext(browser: Browser, { colorScheme, width }: Look): Promise<BrowserContext> {
  return browser.newContext({
    colorScheme, viewport: { width, height: 800 }, reducedMotion: 'reduce', locale: 'en-US', timezoneId: 'UTC',
  });
}

/** The whole page as a PNG; `calculator` is a page that is only used to compute, and left as it is. */
export async function takePicture(page: Page, calculator: Page): Promise<Buffer> {
  const picture = await page.screenshot({ fullPage: true, animations: 'disabled', caret: 'hide' });
  const { width, height, base64 } = (await calculator.evaluate(`(async () => {
    const { width, height, data } = await (${PIXELS_OF})(${JSON.stringify(addressOf(picture))});
    const parts = [];
    for (let at = 0; at < data.length; at += 32_768) {
      parts.push(String.fromCharCode(...data.subarray(at, at + 32_768)));
    }
    return { width, height, base64: btoa(parts.join('')) };
  })()`)) as { readonly width: number; readonly height: number; readonly base64: string };
  return palettePng({ width, height, data: Buffer.from(base64, 'base64') });
}

/** A function of the browser that decodes an image. */
const PIXELS_OF = `async (address) => {
  const bitmap = await createImageBitmap(await (await fetch(address)).blob());
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height);
}`;

function addressOf(image: Buffer): string {
  return `data:image/png;base64,${image.toString('base64')}`;
}

/** The font that the page's texts are shown in: each machine has its own. */
export async function fontOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  await session.send('DOM.enable');
  await session.send('CSS.enable');
  const { root } = await session.send('DOM.getDocument');
  const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'h1' });
  const { fonts } = await session.send('CSS.getPlatformFontsForNode', { nodeId });
  await session.detach();
  return fonts.map(({ familyName }) => familyName).join(', ');
}

/** Edges of letters may differ by less than this, of 255. */
const SAME_COLOUR = 48;

/** Share of the pixels that differ, from 0 to 1; 1 where the sizes do. */
export async function differenceOf(calculator: Page, one: Buffer, other: Buffer): Promise<number> {
  return Number(await calculator.evaluate(`(async () => {
    const pixels = await Promise.all(${JSON.stringify([one, other].map(addressOf))}.map(${PIXELS_OF}));
    const [{ width, height, data }, other] = pixels;
    if (width !== other.width || height !== other.height) return 1;
    let different = 0;
    for (let at = 0; at < data.length; at += 4) {
      const isSame = [0, 1, 2].every((part) => Math.abs(data[at + part] - other.data[at + part]) < ${SAME_COLOUR});
      if (!isSame) different += 1;
    }
    return different / (width * height);
  })()`));
}
