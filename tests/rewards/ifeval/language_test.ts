import { assertEquals } from "@std/assert";
import { KNOWN_LANGUAGES, languageOf, loadLanguages } from "../../../src/rewards/ifeval/language.ts";

await loadLanguages();

const TEXTS: readonly (readonly [string, string])[] = [
  ["en", "The quick brown fox jumps over the lazy dog, and then it runs away from the farmer."],
  ["en", "HELLO WORLD"],
  ["en", "xyzzy"],
  ["de", "Ich habe gestern einen langen Brief an meine Tante geschrieben, weil sie bald Geburtstag hat."],
  ["fr", "Je voudrais un café et un croissant, s'il vous plaît, car je n'ai pas mangé ce matin."],
  ["es", "Me gustaría saber dónde está la biblioteca, porque tengo que devolver un libro muy pronto."],
  ["pt", "Eu não sei onde fica a biblioteca, mas preciso de devolver um livro que está muito atrasado."],
  ["it", "Vorrei sapere dove si trova la biblioteca, perché devo restituire un libro che ho letto."],
  ["nl", "Ik weet niet waar de bibliotheek is, maar ik moet een boek terugbrengen dat te laat is."],
  ["sv", "Jag vet inte var biblioteket ligger, men jag måste lämna tillbaka en bok som är försenad."],
  ["fi", "En tiedä missä kirjasto on, mutta minun täytyy palauttaa kirja, joka on myöhässä."],
  ["pl", "Nie wiem, gdzie jest biblioteka, ale muszę oddać książkę, która jest już spóźniona."],
  ["tr", "Kütüphanenin nerede olduğunu bilmiyorum ama çok geç kalmış bir kitabı geri vermem gerekiyor."],
  ["vi", "Tôi không biết thư viện ở đâu, nhưng tôi phải trả lại một cuốn sách đã quá hạn."],
  ["sw", "Sijui maktaba iko wapi, lakini ni lazima nirudishe kitabu ambacho kimechelewa kwa muda mrefu."],
  ["id", "Saya tidak tahu di mana perpustakaan itu, tetapi saya harus mengembalikan buku yang terlambat."],
  ["ru", "Я не знаю, где находится библиотека, но мне нужно вернуть книгу, которую я взял."],
  ["uk", "Я не знаю, де знаходиться бібліотека, але мені потрібно повернути книгу, яку я взяв."],
  ["bg", "Не знам къде се намира библиотеката, но трябва да върна една книга, която съм взел."],
  ["ar", "لا أعرف أين تقع المكتبة، لكن يجب علي أن أعيد كتابا متأخرا جدا."],
  ["fa", "من نمی‌دانم کتابخانه کجاست، اما باید کتابی را که دیر شده است برگردانم."],
  ["ur", "مجھے نہیں معلوم کہ لائبریری کہاں ہے، لیکن مجھے ایک کتاب واپس کرنی ہے۔"],
  ["hi", "मुझे नहीं पता कि पुस्तकालय कहाँ है, लेकिन मुझे एक किताब लौटानी है जो देर हो गई है।"],
  ["mr", "मला ग्रंथालय कुठे आहे ते माहीत नाही, पण मला एक पुस्तक परत करायचे आहे."],
  ["ne", "मलाई पुस्तकालय कहाँ छ थाहा छैन, तर मैले एउटा किताब फिर्ता गर्नु पर्ने हुन्छ।"],
  ["bn", "আমি জানি না গ্রন্থাগার কোথায়, কিন্তু আমাকে একটি বই ফেরত দিতে হবে।"],
  ["pa", "ਮੈਨੂੰ ਨਹੀਂ ਪਤਾ ਕਿ ਲਾਇਬ੍ਰੇਰੀ ਕਿੱਥੇ ਹੈ।"],
  ["gu", "મને ખબર નથી કે પુસ્તકાલય ક્યાં છે."],
  ["ta", "நூலகம் எங்கே இருக்கிறது என்று எனக்குத் தெரியாது."],
  ["te", "గ్రంథాలయం ఎక్కడ ఉందో నాకు తెలియదు."],
  ["kn", "ಗ್ರಂಥಾಲಯ ಎಲ್ಲಿದೆ ಎಂದು ನನಗೆ ಗೊತ್ತಿಲ್ಲ."],
  ["ml", "ലൈബ്രറി എവിടെയാണെന്ന് എനിക്കറിയില്ല."],
  ["th", "ฉันไม่รู้ว่าห้องสมุดอยู่ที่ไหน"],
  ["ko", "도서관이 어디에 있는지 모르지만 책을 반납해야 합니다."],
  ["ja", "図書館がどこにあるのかわかりませんが、本を返さなければなりません。"],
  ["zh", "我不知道图书馆在哪里，但我必须还一本书。"],
  ["el", "Δεν ξέρω πού είναι η βιβλιοθήκη."],
  ["he", "אני לא יודע איפה הספרייה."],
  ["en", "Yes, of course! Please send me two tickets for the late show on Friday."],
  ["en", "Dear Ms. Na Ya, thank you for the kind letter about the house in Kenya."],
  ["de", "Guten Morgen! Hast du gut geschlafen?"],
  ["fr", "Bonjour à tous, voici un petit poème sur la mer et le soleil."],
  ["es", "Hola, ¿puedes ayudarme con la tarea de matemáticas?"],
  ["it", "Buongiorno a tutti, oggi parliamo della storia di Roma."],
  ["pt", "Bom dia! O tempo hoje está muito bonito, vamos à praia."],
  ["nl", "Goedemorgen, wil je vanavond samen met ons eten?"],
  ["da", "Jeg ved ikke, hvor biblioteket ligger, men jeg skal aflevere en bog, der er meget forsinket."],
  ["cs", "Nevím, kde je knihovna, ale musím vrátit knihu, která je už velmi opožděná."],
  ["hu", "Nem tudom, hol van a könyvtár, de vissza kell vinnem egy könyvet, ami már nagyon késik."],
  ["ro", "Nu știu unde este biblioteca, dar trebuie să returnez o carte care este foarte întârziată."],
  ["hr", "Ne znam gdje je knjižnica, ali moram vratiti knjigu koja već jako kasni."],
  ["et", "Ma ei tea, kus raamatukogu on, aga pean tagastama raamatu, mis on väga hilinenud."],
  ["lt", "Nežinau, kur yra biblioteka, bet turiu grąžinti knygą, kuri labai vėluoja."],
  ["af", "Ek weet nie waar die biblioteek is nie, maar ek moet 'n boek teruggee wat baie laat is."],
  ["cy", "Dydw i ddim yn gwybod ble mae'r llyfrgell, ond mae'n rhaid i mi ddychwelyd llyfr sydd yn hwyr."],
  ["fi", "Hyvää huomenta! Tänään aurinko paistaa ja linnut laulavat."],
  ["sw", "Habari za asubuhi! Leo hali ya hewa ni nzuri sana na watoto wanacheza nje."],
  ["sw", "Mwalimu wetu ni mtu mwema ambaye anapenda kusoma vitabu kila siku."],
  ["vi", "Chào buổi sáng! Hôm nay trời rất đẹp và chúng tôi đi dạo trong công viên."],
  ["id", "Selamat pagi! Hari ini cuaca sangat bagus dan anak-anak bermain di luar."],
  ["bg", "Добро утро! Днес времето е много хубаво и децата играят навън."],
  ["ru", "Доброе утро! Сегодня очень хорошая погода, и дети играют на улице."],
  ["mk", "Не знам каде е библиотеката, но морам да вратам една книга што многу доцни."],
  ["fa", "صبح بخیر! امروز هوا خیلی خوب است و بچه‌ها بیرون بازی می‌کنند."],
  ["ur", "صبح بخیر! آج موسم بہت اچھا ہے اور بچے باہر کھیل رہے ہیں۔"],
  ["ar", "صباح الخير! الطقس جميل جدا اليوم والأطفال يلعبون في الخارج."],
  ["mr", "सुप्रभात! आज हवामान खूप छान आहे आणि मुले बाहेर खेळत आहेत."],
  ["ne", "शुभ प्रभात! आज मौसम धेरै राम्रो छ र बच्चाहरू बाहिर खेलिरहेका छन्।"],
  ["hi", "सुप्रभात! आज मौसम बहुत अच्छा है और बच्चे बाहर खेल रहे हैं।"],
  ["hy", "Ես չգիտեմ, թե որտեղ է գրադարանը։"],
];

for (const [language, text] of TEXTS) {
  Deno.test(`languageOf() detects ${language} in '${text.slice(0, 30)}…'`, () => {
    assertEquals(languageOf(text), language);
    assertEquals(languageOf(text.toUpperCase()), language);
  });
}

Deno.test("languageOf() uses the script of most letters", () => {
  assertEquals(languageOf("यह एक वाक्य है और इसमें Deno का नाम है"), "hi");
  assertEquals(languageOf("The word नमस्ते is Hindi, and the rest of this is not."), "en");
});

Deno.test("languageOf() returns undefined for a text without letters", () => {
  for (const text of ["", "123 + 4!", "😀", "\n"]) assertEquals(languageOf(text), undefined);
});

Deno.test("languageOf() supports each language of the IFEval prompts", () => {
  const codes = "ar bg bn de fa fi gu hi it kn ko mr ne pa pt ru sw ta te th ur vi en".split(" ");
  assertEquals(codes.filter((code) => !KNOWN_LANGUAGES.has(code)), []);
});
