/** Features of a language among others of its script: common words, and letters that the others lack. */
export interface LanguageProfile {
  readonly words: string;
  readonly letters?: string;
}

/** Languages in Latin letters. */
export const LATIN: Readonly<Record<string, LanguageProfile>> = {
  en: {
    words:
      "the of and to in is it that was he for on are as with his they at be this from have or by one had not " +
      "but what all were when we there can an your which their said if do will each about how up out them then she " +
      "many some so these would other into has more her two like him see could no make than been its who now you my " +
      "our i me us a did get only also very just where after most over through because hello please yes thank good",
  },
  af: {
    words:
      "die en van het is in wat nie om te dat sy hy vir met ek jy ons hulle wees maar ook word kan sal baie hierdie " +
      "daar deur as was na aan oor nog moet",
  },
  ca: {
    words:
      "el la els les de que i un una és en per amb no es al del dels com més aquest aquesta però són també ha va " +
      "molt seu seva quan tot jo nosaltres perquè",
    letters: "ŀ",
  },
  cs: {
    words:
      "a je se na to v že s z do o jsem jako ale tak jsou by pro co který která jeho nebo když než už může být " +
      "také jen byl bylo velmi",
    letters: "řěů",
  },
  cy: {
    words:
      "y yr yn i o a ac mae ar am gan sydd oedd fod bod eu ei hyn nid wedi gyda ond hefyd dros gall rydym",
    letters: "ŵŷ",
  },
  da: {
    words:
      "og i at det er en til af på som med for der de den ikke har jeg et vi han hun kan var men om fra så blev " +
      "efter meget også deres ud nogle mange af hvad",
    letters: "æø",
  },
  de: {
    words:
      "der die das und ist nicht ein eine einen einem einer in zu den von mit sich auf für als auch es an werden " +
      "aus er hat dass sie nach wird bei sind noch wie im dem des war so man aber ich wir ihr wenn oder haben kann " +
      "mein sehr zum zur über durch vor",
    letters: "ß",
  },
  es: {
    words:
      "el la los las de que y en un una es por con no se para su al lo como más pero sus le ya este esta sí porque " +
      "cuando muy sin sobre también me hasta hay donde quien desde todo nos yo son fue ser ha puede",
    letters: "ñ",
  },
  et: {
    words:
      "ja on ei et see kui oma ta ka mis aga oli või siis ning nii ma kes veel nad meie väga palju üks selle mida " +
      "olla saab kuid seda",
    letters: "õ",
  },
  fi: {
    words:
      "ja on ei se että hän oli joka mutta ovat kun niin myös kuin tai ole voi sen hänen mitä jos minä sinä me " +
      "he olla tämä tämän siitä vain kaikki hyvin sekä mukaan ovat jotka nyt paljon kanssa",
  },
  fr: {
    words:
      "le la les de des du et un une est en que qui dans pour pas sur au aux avec il elle ce cette ne se par plus " +
      "son sa ses nous vous je mais ou comme tout sont être fait été leur très bien aussi même peut",
    letters: "œ",
  },
  hr: {
    words:
      "i je u se na da su za od s koji koja što kao ali ne o iz nije ili te sam bi to biti već samo ima može jer " +
      "vrlo kada",
    letters: "đ",
  },
  hu: {
    words:
      "a az és hogy nem is egy ez van meg de azt volt csak mint ha már még el vagy ki kell minden nagyon itt én te " +
      "ő mi lesz után között amely",
    letters: "őű",
  },
  id: {
    words:
      "yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya ke karena ada oleh kami mereka adalah " +
      "kita bisa sudah anda atau seperti lebih dapat sangat telah bahwa tetapi",
  },
  it: {
    words:
      "il lo la i gli le di che e un una è in per con non si da del della dei delle al alla sono come più ma anche " +
      "se nel nella questo questa suo sua ci mi ho ha essere quando molto perché tutto io loro così dal o può",
  },
  lt: {
    words:
      "ir yra kad į tai su iš kaip bet ne buvo jis ji mes jie apie per nuo dar labai tik po už savo kuris būti gali " +
      "arba taip",
    letters: "ėųįąę",
  },
  lv: {
    words:
      "un ir ka no ar par uz tas kas bet nav bija viņš viņa mēs kā vai pēc pie ļoti tikai arī savu būt var šis tā",
    letters: "ļķņģ",
  },
  nl: {
    words:
      "de het een en van is in dat te niet op zijn voor met die aan er ook als maar om bij nog naar dan door wat " +
      "was worden heeft hij zij wij je ik ze deze dit meer zeer kan hebben over uit al",
  },
  no: {
    words:
      "og i det er en til av på som med for at de den ikke har jeg et vi han hun kan var men om fra så ble etter " +
      "veldig også deres ut noen mange hva være denne å",
    letters: "æø",
  },
  pl: {
    words:
      "i w na z do nie się to że jest jak o za ale po od co dla jego tak przez czy są był tym już tylko może bardzo " +
      "jako które który która być oraz jej",
    letters: "łżśźńć",
  },
  pt: {
    words:
      "o a os as de que e do da em um uma para é com não se por mais dos das no na ao ele ela seu sua mas foi como " +
      "são muito também já está eu você nós eles quando há pelo pela isso este esta ser tem ou pode nos",
    letters: "ãõ",
  },
  ro: {
    words:
      "și de la în a cu nu o un pe este că să din mai pentru care ce el ea au fost dar se ca sau sunt foarte după " +
      "acest această fi era lui când",
    letters: "șțăşţ",
  },
  sk: {
    words:
      "a je sa na to v že s z do o som ako ale tak sú by pre čo ktorý ktorá jeho alebo keď než už môže byť tiež " +
      "len bol bolo veľmi",
    letters: "ľĺŕ",
  },
  sl: {
    words:
      "in je se na da so za od s ki v ne pa bi ali kot tudi po z ni to ta jih ker če lahko biti samo zelo ima še " +
      "kaj",
  },
  so: {
    words:
      "waa iyo in ka ku oo ayaa uu ah la waxay waxaa soo si aan loo isku ayay u leh badan markii kale kuwa waxa",
  },
  sq: {
    words:
      "dhe i e të në një për me nuk që është u nga ka si por do kjo ky më janë ai ajo shumë edhe kur ishte mund",
    letters: "ë",
  },
  sv: {
    words:
      "och i att det är en till av på som med för den inte har jag ett vi han hon kan var men om från så blev efter " +
      "mycket också deras ut några många vad vara de denna",
  },
  sw: {
    words:
      "na ya wa kwa ni katika za la kuwa hii hiyo huo au pia sana watu yake wake yangu mimi wewe sisi yeye lakini " +
      "kama cha vya hiki hili ili kila tu bila baada kabla hata zaidi ambayo ambao alikuwa wote mwa nchi mtu ndani hapa",
  },
  tl: {
    words:
      "ang ng mga sa na ay at si ko ka mo niya siya ito hindi kung para may kami sila lang po ako namin natin isang " +
      "nang kay dahil ngunit",
  },
  tr: {
    words:
      "ve bir bu da de için ile çok ne o ama gibi daha var mi ben sen biz olarak olan kadar sonra her şey değil ki " +
      "en ya veya olduğu",
    letters: "ğış",
  },
  vi: {
    words:
      "là và của có không một những được cho trong với các người này đã để khi tôi bạn chúng ta anh cô nó thì rất " +
      "nhiều về ra đến từ cũng như nhưng sẽ làm vào lại còn hơn",
    letters: "ơưđăạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
  },
};

/** Languages in Cyrillic letters. */
export const CYRILLIC: Readonly<Record<string, LanguageProfile>> = {
  bg: {
    words:
      "и на да се е за не от с в са че по като но си ще това той тя ние вие които който беше много към или след " +
      "до при има съм сте бъде може трябва този тази тези също",
    letters: "ъ",
  },
  mk: {
    words:
      "и на да се е за не од со во што по како но ќе тоа тој таа ние вие кои кој беше многу кон или до има сум " +
      "може овој оваа",
    letters: "ѓќѕјљњџ",
  },
  ru: {
    words:
      "и в не на я что он с а как это по но они к у мы из за то все она так его от о же вы бы был была были для " +
      "только или когда очень есть если мне меня может нет уже будет их при",
    letters: "ыэё",
  },
  uk: {
    words:
      "і в не на я що він з а як це по але вони до у ми із за то все вона так його від про ж ви б був була були для " +
      "тільки або коли дуже є якщо мені може",
    letters: "іїєґ",
  },
};

/** Languages in Arabic letters. */
export const ARABIC: Readonly<Record<string, LanguageProfile>> = {
  ar: {
    words: "في من على إلى أن هذا هذه التي الذي ما لا كان كانت عن مع هو هي ذلك أو كل بعد قد لم لن إن ثم بين",
    letters: "ةىيكإأ",
  },
  fa: {
    words:
      "و در به از که این را با برای آن است بود می شود ها های یک هم خود تا بر اما ما من شما او کرد شده باید اگر نیز",
    letters: "پچژگکی",
  },
  ur: {
    words: "ہے ہیں کے کا کی میں کو سے اور پر یہ نہیں نے تھا تھی ایک ہو کر جو بھی وہ ہم آپ لیے گیا تو اس ان",
    letters: "ٹڈڑںےھہۓ",
  },
};

/** Languages in Devanagari. */
export const DEVANAGARI: Readonly<Record<string, LanguageProfile>> = {
  hi: {
    words: "है हैं के का की में को से और पर यह वह एक नहीं ने कि था थे थी हो गया भी तो लिए अपने करने किया जो हम आप मैं " +
      "मुझे इस उस कर सकते सकता होता होती रहा रही रहे बहुत या ये अगर",
  },
  mr: {
    words: "आहे आहेत आणि हे ही हा तो ती ते नाही मी तुम्ही आम्ही करू शकता होते झाले काही एक पण च्या ची चे मध्ये साठी " +
      "तर आपण आपल्या त्या त्यांच्या असे असते करण्यासाठी खूप किंवा मला माझ्या होता होती या",
    letters: "ळ",
  },
  ne: {
    words: "छ छन् हुन्छ र यो त्यो हो गर्न भएको छैन पनि तपाईं म हामी थियो गरेको हुने लागि गर्नुहोस् छु एक मा को का ले " +
      "लाई भने वा तर धेरै हाम्रो मेरो गर्छ गर्ने भन्ने सबै छन",
  },
};
